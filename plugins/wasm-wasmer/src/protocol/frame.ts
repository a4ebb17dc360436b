/** A message between the node and a sandbox: a header, and bytes. */
export interface Frame {
  readonly header: unknown
  readonly body: Buffer
}

/**
 * Writes the beginning of a frame: the lengths of its header and its body as two 32-bit little-endian integers, and the
 * header as JSON. The body follows.
 */
export function frameHead(header: unknown, bodyBytes: number): Buffer {
  const text = Buffer.from(JSON.stringify(header))
  const head = Buffer.allocUnsafe(8 + text.length)
  head.writeUInt32LE(text.length, 0)
  head.writeUInt32LE(bodyBytes, 4)
  text.copy(head, 8)
  return head
}

/** Puts frames together from chunks. */
export class FrameCollector {
  /** Most bytes of a frame. */
  largest = Number.MAX_SAFE_INTEGER
  #chunks: Buffer[] = []
  #bytes = 0
  #wanted = 8

  /**
   * @returns the complete frames
   * @throws RangeError for a frame that is too large
   */
  push(chunk: Buffer): Frame[] {
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    const frames: Frame[] = []
    for (let frame = this.#take(); frame !== undefined; frame = this.#take()) frames.push(frame)
    return frames
  }

  #take(): Frame | undefined {
    if (this.#bytes < this.#wanted) return undefined
    const all = Buffer.concat(this.#chunks, this.#bytes)
    this.#chunks = [all]
    const headerBytes = all.readUInt32LE(0)
    const size = 8 + headerBytes + all.readUInt32LE(4)
    if (size > this.largest) throw new RangeError(`A frame of ${size} bytes is too large.`)
    this.#wanted = size
    if (all.length < size) return undefined
    const header: unknown = JSON.parse(all.toString('utf8', 8, 8 + headerBytes))
    const body = all.subarray(8 + headerBytes, size)
    this.#chunks = [all.subarray(size)]
    this.#bytes = all.length - size
    this.#wanted = 8
    return { header, body }
  }
}

/** Takes the parts of a body, one after the other. */
export class BodyReader {
  readonly #body: Buffer
  #at = 0

  constructor(body: Buffer) {
    this.#body = body
  }

  take(size: number): Buffer {
    const part = this.#body.subarray(this.#at, this.#at + size)
    if (part.length !== size) throw new RangeError('A frame is shorter than it says.')
    this.#at += size
    return part
  }
}
