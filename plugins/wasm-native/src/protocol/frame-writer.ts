/**
 * Frames that wait to be sent, one after the other in one buffer: a length of four bytes, which counts what follows
 * it, then a byte that says of what kind the frame is, then fields. Numbers are little-endian.
 */
export class FrameWriter {
  #bytes = Buffer.allocUnsafe(16 * 1024)
  #end = 0
  #frame = 0

  /** Whether nothing waits. */
  get empty(): boolean {
    return this.#end === 0
  }

  begin(kind: number): void {
    this.#frame = this.#end
    this.#reserve(5)
    this.#bytes[this.#end + 4] = kind
    this.#end += 5
  }

  /** @param follows how many bytes of the frame are sent apart, after what was written */
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

  float64(value: number): void {
    this.#reserve(8)
    this.#end = this.#bytes.writeDoubleLE(value, this.#end)
  }

  /** The lowest 64 bits of a whole number. */
  int64(value: bigint): void {
    this.#reserve(8)
    this.#end = this.#bytes.writeBigInt64LE(BigInt.asIntN(64, value), this.#end)
  }

  text(value: string): void {
    // UTF-8 needs at most three bytes for a UTF-16 code unit.
    this.#reserve(4 + value.length * 3)
    const length = this.#bytes.write(value, this.#end + 4)
    this.#bytes.writeUInt32LE(length, this.#end)
    this.#end += 4 + length
  }

  /** The bytes of the frames that were finished, which stay as they are. */
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
