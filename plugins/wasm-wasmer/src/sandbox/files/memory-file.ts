import type { Budget } from './budget.ts'

/** The present, in nanoseconds since 1970. */
export function now(): bigint {
  return BigInt(Date.now()) * 1_000_000n
}

/** A file in memory. */
export class MemoryFile {
  readonly kind = 'file'
  size: number
  /** In nanoseconds since 1970. */
  accessed: bigint
  /** In nanoseconds since 1970. */
  modified: bigint
  /** Whether the program set its times. */
  hasSetTimes = false
  readonly #budget: Budget
  readonly #original: Buffer | null
  #bytes: Buffer
  #linked = true

  /** @param original the initial content, which is never changed; null for a new file */
  constructor(budget: Budget, original: Buffer | null, modified: bigint) {
    this.accessed = modified
    this.modified = modified
    this.#budget = budget
    this.#original = original
    this.#bytes = original ?? Buffer.alloc(0)
    this.size = this.#bytes.length
    budget.takeBytes(this.size)
  }

  /** @returns a view, valid until the next change */
  content(): Buffer {
    return this.#bytes.subarray(0, this.size)
  }

  read(offset: number, length: number): Buffer {
    return this.#bytes.subarray(Math.min(offset, this.size), Math.min(offset + length, this.size))
  }

  write(offset: number, data: Uint8Array): void {
    this.#own(Math.max(this.size, offset + data.length))
    this.size = Math.max(this.size, offset + data.length)
    this.#bytes.set(data, offset)
  }

  setTimes(accessed: bigint, modified: bigint): void {
    this.accessed = accessed
    this.modified = modified
    this.hasSetTimes = true
  }

  resize(size: number): void {
    this.#own(size)
    this.#bytes.fill(0, Math.min(size, this.size))
    this.size = size
  }

  /** Notes the removal from the folder. The program may still use the file if it is open; only the limit of the process counts then. */
  unlink(): void {
    this.#budget.giveBytes(this.size)
    this.#linked = false
  }

  #count(growth: number): void {
    if (!this.#linked) return
    if (growth > 0) this.#budget.takeBytes(growth)
    else this.#budget.giveBytes(-growth)
  }

  /** Makes the bytes a copy of the original that is large enough. New bytes are zero. */
  #own(size: number): void {
    this.#count(size - this.size)
    this.modified = now()
    if (this.#bytes !== this.#original && size <= this.#bytes.length) return
    const grown = Buffer.alloc(size > this.#bytes.length ? size + (size >> 1) : this.#bytes.length)
    this.#bytes.copy(grown, 0, 0, this.size)
    this.#bytes = grown
  }
}
