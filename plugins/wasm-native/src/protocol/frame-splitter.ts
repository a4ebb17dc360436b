import { FrameReader } from './frame-reader.ts'

const lengthBytes = 4

/** Finds the frames in a stream of bytes, wherever the stream is cut. */
export class FrameSplitter {
  readonly #largest: number
  /** A frame that has not come whole, as long as it will be; or a length that has not. */
  #part: Buffer | null = null
  #filled = 0

  /** @param largest bytes of a frame; a longer one is an error */
  constructor(largest: number) {
    this.#largest = largest
  }

  /**
   * Takes the next bytes, which may be reused afterwards.
   *
   * @param receive gets each frame; its bytes are good until it returns
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
    if (at < chunk.length) this.#keep(chunk.subarray(at))
  }

  /** Adds what is missing to the part that is there. Returns how many bytes that took. */
  #complete(chunk: Buffer, receive: (frame: FrameReader) => void): number {
    let at = 0
    while (this.#part !== null) {
      const part = this.#part
      const copied = chunk.copy(part, this.#filled, at)
      at += copied
      this.#filled += copied
      if (this.#filled < part.length) return at
      this.#part = null
      if (part.length === lengthBytes) this.#keep(part)
      else receive(new FrameReader(part.subarray(lengthBytes)))
    }
    return at
  }

  #keep(beginning: Buffer): void {
    const known = beginning.length >= lengthBytes
    const length = lengthBytes + (known ? this.#lengthAt(beginning, 0) : 0)
    // As long as it will be: a module is copied once, however many pieces it comes in.
    this.#part = Buffer.allocUnsafeSlow(length)
    this.#filled = beginning.copy(this.#part)
  }

  #lengthAt(bytes: Buffer, at: number): number {
    const length = bytes.readUInt32LE(at)
    if (length < 1 || length > this.#largest) throw new RangeError(`A frame of ${length} bytes came.`)
    return length
  }
}
