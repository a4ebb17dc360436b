import { NodekeepError, type StorageSpace } from '@nodekeep/plugin-sdk'

/** The bytes that the content of files may take, including unfinished writes. */
export class FreeSpace {
  readonly #maxBytes: number
  readonly #section: string
  #used = 0

  /** @param section the section of the configuration that sets the limit, for the message */
  constructor(maxBytes: number, section: string) {
    this.#maxBytes = maxBytes
    this.#section = section
  }

  get space(): StorageSpace {
    return { free: this.#maxBytes - this.#used, total: this.#maxBytes }
  }

  /** @throws NodekeepError INSUFFICIENT_STORAGE if fewer bytes are free */
  check(bytes: number): void {
    if (this.#used + bytes <= this.#maxBytes) return
    throw new NodekeepError(
      'INSUFFICIENT_STORAGE',
      `The storage in memory is full. Remove files, or raise ${this.#section}.maxBytes (${this.#maxBytes} now).`,
    )
  }

  /** @throws NodekeepError INSUFFICIENT_STORAGE if fewer bytes are free; it reserves none then */
  reserve(bytes: number): void {
    this.check(bytes)
    this.#used += bytes
  }

  release(bytes: number): void {
    this.#used -= bytes
  }
}
