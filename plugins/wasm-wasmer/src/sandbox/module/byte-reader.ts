/** Reads the binary format of WebAssembly: https://webassembly.github.io/spec/core/binary/ */
export class ByteReader {
  readonly bytes: Buffer
  at = 0

  constructor(bytes: Buffer) {
    this.bytes = bytes
  }

  get ended(): boolean {
    return this.at >= this.bytes.length
  }

  byte(): number {
    const value = this.bytes[this.at]
    if (value === undefined) throw new RangeError('The module ends too soon.')
    this.at += 1
    return value
  }

  /** An unsigned number in LEB128. */
  unsigned(): number {
    let value = 0
    for (let factor = 1; ; factor *= 128) {
      const byte = this.byte()
      value += (byte & 127) * factor
      if (byte < 128) return value
    }
  }

  /** So many bytes, as a reader of their own. */
  part(size: number): ByteReader {
    const part = this.bytes.subarray(this.at, this.at + size)
    this.at += size
    return new ByteReader(part)
  }
}

/** An unsigned number in LEB128. */
export function leb(value: number): number[] {
  const bytes: number[] = []
  for (let left = value; ; left = Math.floor(left / 128)) {
    if (left < 128) return [...bytes, left]
    bytes.push((left % 128) + 128)
  }
}
