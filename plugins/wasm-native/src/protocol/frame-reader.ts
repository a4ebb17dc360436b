/** Reads the fields of one frame in the order in which they were written. */
export class FrameReader {
  readonly kind: number
  readonly #bytes: Buffer
  #at = 1

  /** @param bytes the frame without its length */
  constructor(bytes: Buffer) {
    this.#bytes = bytes
    this.kind = bytes.readUInt8(0)
  }

  uint8(): number {
    this.#at += 1
    return this.#bytes.readUInt8(this.#at - 1)
  }

  uint32(): number {
    this.#at += 4
    return this.#bytes.readUInt32LE(this.#at - 4)
  }

  float64(): number {
    this.#at += 8
    return this.#bytes.readDoubleLE(this.#at - 8)
  }

  int64(): bigint {
    this.#at += 8
    return this.#bytes.readBigInt64LE(this.#at - 8)
  }

  text(): string {
    const length = this.uint32()
    if (this.#at + length > this.#bytes.length) throw new RangeError('The text ends behind its frame.')
    this.#at += length
    return this.#bytes.toString('utf8', this.#at - length, this.#at)
  }

  /** What comes after the fields that were read. */
  rest(): Buffer {
    return this.#bytes.subarray(this.#at)
  }
}
