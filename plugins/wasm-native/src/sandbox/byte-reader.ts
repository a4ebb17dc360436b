/** Reads the primitives of the binary format: https://webassembly.github.io/spec/core/binary/values.html */
export class ByteReader {
  readonly #bytes: Buffer
  at: number
  readonly end: number

  constructor(bytes: Buffer, at = 0, end = bytes.length) {
    if (end > bytes.length) throw new RangeError('A section ends behind the module.')
    this.#bytes = bytes
    this.at = at
    this.end = end
  }

  get more(): boolean {
    return this.at < this.end
  }

  byte(): number {
    if (this.at >= this.end) throw new RangeError('A section ends too soon.')
    this.at += 1
    return this.#bytes[this.at - 1] ?? 0
  }

  skip(size: number): void {
    this.at += size
  }

  /** An unsigned integer in LEB128. One beyond the safe integers comes near enough. */
  unsigned(): number {
    let value = 0
    let weight = 1
    for (;;) {
      const byte = this.byte()
      value += (byte & 0x7f) * weight
      if (byte < 0x80) return value
      weight *= 128
    }
  }

  /** Passes over an integer in LEB128, signed or not. */
  skipInteger(): void {
    while (this.byte() >= 0x80);
  }

  name(): string {
    const length = this.unsigned()
    if (this.at + length > this.end) throw new RangeError('A name ends behind its section.')
    this.at += length
    return this.#bytes.toString('utf8', this.at - length, this.at)
  }

  /** A reader of the next bytes, which are passed over. */
  part(size: number): ByteReader {
    const part = new ByteReader(this.#bytes, this.at, this.at + size)
    this.at += size
    return part
  }
}
