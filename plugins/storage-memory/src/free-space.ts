import { NodekeepError } from '@nodekeep/plugin-sdk'

/** The bytes that files may take, those of unfinished writes included. */
export class Room {
  readonly #maxBytes: number
  readonly #section: string
  #taken = 0

  /** @param section where the configuration sets the limit */
  constructor(maxBytes: number, section: string) {
    this.#maxBytes = maxBytes
    this.#section = section
  }

  /** @throws NodekeepError INSUFFICIENT_STORAGE when not so many are free */
  check(bytes: number): void {
    if (this.#taken + bytes <= this.#maxBytes) return
    throw new NodekeepError(
      'INSUFFICIENT_STORAGE',
      `The storage in memory is full. Remove files, or raise ${this.#section}.maxBytes (${this.#maxBytes} now).`,
    )
  }

  /** @throws NodekeepError INSUFFICIENT_STORAGE when not so many are free; none are taken then */
  take(bytes: number): void {
    this.check(bytes)
    this.#taken += bytes
  }

  give(bytes: number): void {
    this.#taken -= bytes
  }
}
