import type { WasmNumber } from '@nodekeep/plugin-sdk'

const lengthBytes = 4
/** A number has nine bytes: its form, then a float64 or the 64 bits of an integer. */
const float = 0
const integer = 1

/**
 * Collects frames to send, one after the other in one buffer. A frame is its length in four bytes, which do not count,
 * a byte for its kind, and its fields. Numbers are little-endian.
 */
export class FrameWriter {
  #bytes = Buffer.allocUnsafe(16 * 1024)
  #end = 0
  #frame = 0

  begin(kind: number): void {
    this.#frame = this.#end
    this.#reserve(5)
    this.#bytes[this.#end + 4] = kind
    this.#end += 5
  }

  /** @param follows bytes of the frame that are sent separately, after this buffer */
  finish(follows = 0): void {
    this.#bytes.writeUInt32LE(this.#end - this.#frame - 4 + follows, this.#frame)
  }

  uint8(value: number): void {
    this.#reserve(1)
    this.#bytes[this.#end] = value
    this.#end += 1
  }

  uint32(value: number): void {
    this.#reserve(4)
    this.#end = this.#bytes.writeUInt32LE(value, this.#end)
  }

  /** Writes numbers exactly, −0 and infinities too. Of a bigint the lowest 64 bits. */
  numbers(values: readonly WasmNumber[]): void {
    this.uint32(values.length)
    this.#reserve(values.length * 9)
    for (const value of values) {
      const isLong = typeof value === 'bigint'
      this.uint8(isLong ? integer : float)
      this.#end = isLong
        ? this.#bytes.writeBigInt64LE(BigInt.asIntN(64, value), this.#end)
        : this.#bytes.writeDoubleLE(value, this.#end)
    }
  }

  text(value: string): void {
    // UTF-8 needs at most three bytes for a UTF-16 code unit.
    this.#reserve(4 + value.length * 3)
    const length = this.#bytes.write(value, this.#end + 4)
    this.#bytes.writeUInt32LE(length, this.#end)
    this.#end += 4 + length
  }

  /** Takes the bytes of the finished frames out. */
  take(): Buffer {
    const taken = Buffer.from(this.#bytes.subarray(0, this.#end))
    this.#end = 0
    return taken
  }

  #reserve(size: number): void {
    if (this.#end + size <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#end + size))
    this.#bytes.copy(larger, 0, 0, this.#end)
    this.#bytes = larger
  }
}

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

  numbers(): WasmNumber[] {
    const values: WasmNumber[] = []
    for (let left = this.uint32(); left > 0; left -= 1) {
      const isLong = this.uint8() === integer
      values.push(isLong ? this.#bytes.readBigInt64LE(this.#at) : this.#bytes.readDoubleLE(this.#at))
      this.#at += 8
    }
    return values
  }

  text(): string {
    const length = this.uint32()
    if (this.#at + length > this.#bytes.length) throw new RangeError('The text ends behind its frame.')
    this.#at += length
    return this.#bytes.toString('utf8', this.#at - length, this.#at)
  }

  /** The bytes behind the fields that were read. */
  rest(): Buffer {
    return this.#bytes.subarray(this.#at)
  }
}

/** Finds the frames in a stream of bytes, wherever the stream is cut. */
export class FrameSplitter {
  readonly #largest: number
  /** The frame that is arriving, in its whole length, or its length if that has not arrived. */
  #part: Buffer | null = null
  #filled = 0

  /** @param largest most bytes of a frame */
  constructor(largest: number) {
    this.#largest = largest
  }

  /**
   * Takes the next bytes. The caller may reuse them afterwards.
   *
   * @param receive gets each frame, whose bytes are valid until it returns
   * @throws RangeError when a frame is too long, or empty
   */
  push(chunk: Buffer, receive: (frame: FrameReader) => void): void {
    let at = this.#complete(chunk, receive)
    while (chunk.length - at >= lengthBytes) {
      const end = at + lengthBytes + this.#lengthAt(chunk, at)
      if (end > chunk.length) break
      receive(new FrameReader(chunk.subarray(at + lengthBytes, end)))
      at = end
    }
    if (at < chunk.length) this.#keepPart(chunk.subarray(at))
  }

  /** Adds to the frame that is arriving. Returns how many bytes that took. */
  #complete(chunk: Buffer, receive: (frame: FrameReader) => void): number {
    let at = 0
    while (this.#part !== null) {
      const part = this.#part
      const copied = chunk.copy(part, this.#filled, at)
      at += copied
      this.#filled += copied
      if (this.#filled < part.length) return at
      this.#part = null
      if (part.length === lengthBytes) this.#keepPart(part)
      else receive(new FrameReader(part.subarray(lengthBytes)))
    }
    return at
  }

  #keepPart(beginning: Buffer): void {
    const known = beginning.length >= lengthBytes
    const length = lengthBytes + (known ? this.#lengthAt(beginning, 0) : 0)
    // In its whole length: so a module is copied once, however many chunks it comes in.
    this.#part = Buffer.allocUnsafeSlow(length)
    this.#filled = beginning.copy(this.#part)
  }

  #lengthAt(bytes: Buffer, at: number): number {
    const length = bytes.readUInt32LE(at)
    if (length < 1 || length > this.#largest)
      throw new RangeError(`A frame of ${length} bytes is empty or too long.`)
    return length
  }
}
