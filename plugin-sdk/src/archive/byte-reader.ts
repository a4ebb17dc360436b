import { ArchiveError } from './archive-failure.ts'

/** Takes a stream of chunks in pieces of chosen sizes. */
export class ByteReader {
  readonly #source: AsyncIterator<Buffer>
  #rest: Buffer = Buffer.alloc(0)

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]()
  }

  /** Returns from 1 to `most` bytes, or `null` at the end. */
  async some(most: number): Promise<Buffer | null> {
    while (this.#rest.length === 0) {
      const { value, done } = await this.#source.next()
      if (done) return null
      this.#rest = value
    }
    const taken = this.#rest.subarray(0, most)
    this.#rest = this.#rest.subarray(taken.length)
    return taken
  }

  /** @throws ArchiveError when fewer bytes are left */
  async exactly(count: number): Promise<Buffer> {
    const parts: Buffer[] = []
    for (let missing = count; missing > 0; ) {
      const part = await this.some(missing)
      if (part === null) throw new ArchiveError('is cut short')
      parts.push(part)
      missing -= part.length
    }
    return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts)
  }
}
