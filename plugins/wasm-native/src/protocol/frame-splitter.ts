import { FrameReader } from './frame-reader.ts'

/** Finds the frames in a stream of bytes, wherever the stream is cut. */
export class FrameSplitter {
  readonly #largest: number
  /** The beginning of a frame that has not come whole. */
  #held: Buffer[] = []
  #heldSize = 0
  /** How many bytes there have to be before it is worth looking again. */
  #needed = 4

  /** @param largest bytes of a frame; a longer one is an error */
  constructor(largest: number) {
    this.#largest = largest
  }

  /**
   * Takes the next bytes, which may be reused afterwards.
   *
   * @param receive gets each frame; its bytes are good until it returns
   * @throws RangeError when a frame is too long
   */
  push(chunk: Buffer, receive: (frame: FrameReader) => void): void {
    if (this.#heldSize === 0) {
      this.#split(chunk, receive)
      return
    }
    this.#hold(chunk)
    if (this.#heldSize < this.#needed) return
    const joined = Buffer.concat(this.#held, this.#heldSize)
    this.#held = []
    this.#heldSize = 0
    this.#split(joined, receive)
  }

  #split(bytes: Buffer, receive: (frame: FrameReader) => void): void {
    let at = 0
    this.#needed = 4
    while (bytes.length - at >= 4) {
      const length = bytes.readUInt32LE(at)
      if (length < 1 || length > this.#largest) throw new RangeError(`A frame of ${length} bytes came.`)
      const end = at + 4 + length
      if (end > bytes.length) {
        this.#needed = 4 + length
        break
      }
      receive(new FrameReader(bytes.subarray(at + 4, end)))
      at = end
    }
    if (at < bytes.length) this.#hold(bytes.subarray(at))
  }

  #hold(chunk: Buffer): void {
    this.#held.push(Buffer.from(chunk))
    this.#heldSize += chunk.length
  }
}
