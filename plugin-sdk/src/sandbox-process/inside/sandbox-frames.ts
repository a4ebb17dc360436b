/** A message between the node and a sandbox: a header, and bytes. */
export interface Frame {
  readonly header: unknown
  readonly body: Buffer
}

/** Bytes before the header: the lengths of the header and the body. */
const lengthsBytes = 8

/**
 * Writes the beginning of a frame: the lengths of its header and its body as two 32-bit little-endian integers, and the
 * header as JSON. The body follows.
 */
export function frameHead(header: unknown, bodyBytes: number): Buffer {
  const text = Buffer.from(JSON.stringify(header))
  const head = Buffer.allocUnsafe(lengthsBytes + text.length)
  head.writeUInt32LE(text.length, 0)
  head.writeUInt32LE(bodyBytes, 4)
  text.copy(head, lengthsBytes)
  return head
}

/** Puts frames together from chunks. Each frame has memory of its own. */
export class FrameCollector {
  /** Most bytes of a frame. */
  largest = Number.MAX_SAFE_INTEGER
  /** The frame that is arriving: first the lengths alone, then in its whole length, so that its bytes are copied once. */
  #frame = Buffer.allocUnsafe(lengthsBytes)
  #filled = 0;

  /**
   * Takes the next bytes, and yields the complete frames. The caller may reuse the bytes afterwards.
   *
   * @throws RangeError for a frame that is too large, and SyntaxError for a header that is no JSON
   */
  *push(chunk: Buffer): Generator<Frame> {
    for (let at = 0; at < chunk.length; ) {
      const copied = chunk.copy(this.#frame, this.#filled, at)
      at += copied
      this.#filled += copied
      if (this.#filled < this.#frame.length) continue
      if (this.#filled === lengthsBytes) this.#extend()
      else yield this.#take()
    }
  }

  #extend(): void {
    const size = lengthsBytes + this.#frame.readUInt32LE(0) + this.#frame.readUInt32LE(4)
    if (size > this.largest) throw new RangeError(`A frame of ${size} bytes is too large.`)
    if (size === lengthsBytes) throw new RangeError('A frame is empty.')
    const whole = Buffer.allocUnsafeSlow(size)
    this.#frame.copy(whole)
    this.#frame = whole
  }

  #take(): Frame {
    const frame = this.#frame
    this.#frame = Buffer.allocUnsafe(lengthsBytes)
    this.#filled = 0
    const bodyAt = lengthsBytes + frame.readUInt32LE(0)
    const header: unknown = JSON.parse(frame.toString('utf8', lengthsBytes, bodyAt))
    return { header, body: frame.subarray(bodyAt) }
  }
}

/** Takes the parts of a body, one after the other. Their lengths may come from hostile code. */
export class BodyReader {
  readonly #body: Buffer
  #at = 0

  constructor(body: Buffer) {
    this.#body = body
  }

  /** @throws RangeError when so many bytes are not left, or the size is no size */
  take(size: number): Buffer {
    const part = this.#body.subarray(this.#at, this.#at + size)
    if (part.length !== size) throw new RangeError('A frame is shorter than it says.')
    this.#at += size
    return part
  }
}
