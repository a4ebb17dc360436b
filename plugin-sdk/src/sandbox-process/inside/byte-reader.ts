/** Bytes of the longest integer in LEB128, which has 64 bits. */
const longestInteger = 10

/**
 * Reads the values of WebAssembly's binary format, from an offset to an end.
 *
 * @see https://webassembly.github.io/spec/core/binary/values.html
 */
export class ByteReader {
  /** All bytes, those before the offset and behind the end included. */
  readonly bytes: Buffer
  /** The offset of the next byte. */
  at: number
  readonly end: number

  /** @throws RangeError when the end is behind the bytes */
  constructor(bytes: Buffer, at = 0, end = bytes.length) {
    if (end > bytes.length) throw new RangeError('A section ends behind the module.')
    this.bytes = bytes
    this.at = at
    this.end = end
  }

  /** Whether there are bytes left. */
  get more(): boolean {
    return this.at < this.end
  }

  /** @throws RangeError when there are no bytes left */
  byte(): number {
    if (this.at >= this.end) throw new RangeError('A section ends too soon.')
    this.at += 1
    return this.bytes[this.at - 1] ?? 0
  }

  /** Passes over bytes. */
  skip(size: number): void {
    this.at += size
  }

  /**
   * Reads an unsigned integer in LEB128. One beyond the safe integers is rounded.
   *
   * @throws RangeError when it has more bytes than an integer of 64 bits
   */
  unsigned(): number {
    let value = 0
    for (let length = 0; length < longestInteger; length += 1) {
      const byte = this.byte()
      value += (byte & 0x7f) * 128 ** length
      if (byte < 0x80) return value
    }
    throw new RangeError('An integer is too long.')
  }

  /** Passes over an integer in LEB128, signed or not. */
  skipInteger(): void {
    while (this.byte() >= 0x80);
  }

  /** Reads a name in UTF-8, with its length before it. */
  name(): string {
    const length = this.unsigned()
    if (this.at + length > this.end) throw new RangeError('A name ends behind its section.')
    this.at += length
    return this.bytes.toString('utf8', this.at - length, this.at)
  }

  /** Reads as many list items as the number before them says. */
  list<T>(read: (reader: ByteReader) => T): T[] {
    const items: T[] = []
    for (let left = this.unsigned(); left > 0; left -= 1) items.push(read(this))
    return items
  }

  /** Returns a reader of the next bytes, and passes over them. */
  part(size: number): ByteReader {
    const part = new ByteReader(this.bytes, this.at, this.at + size)
    this.at += size
    return part
  }
}

/** The bytes of an unsigned integer in LEB128. */
export function encodeUnsigned(value: number): number[] {
  const bytes: number[] = []
  for (let left = value; ; left = Math.floor(left / 128)) {
    if (left < 128) return [...bytes, left]
    bytes.push((left % 128) + 128)
  }
}
