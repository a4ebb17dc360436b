import { setImmediate as nextTurn } from 'node:timers/promises'
import { RefusedPicture } from './refused-picture.ts'

/** A file with one content. */
export interface PictureSource {
  /** Bytes. */
  readonly size: number
  /**
   * Reads the bytes from `start` to `end`, both included. The file is opened when the first chunk is requested, and closed when the loop ends.
   * The memory of a chunk may be used again when the chunk after the next one is requested. It throws if the file has another content by now.
   */
  read(start: number, end: number): AsyncIterable<Uint8Array>
}

/** Bytes that are read in vain rather than opening the file again behind them. */
const nearBytes = 1024 * 1024

/**
 * Most reads of some bytes in a picture. Each costs about as much as a thousand bytes that are passed. A GIF has six for each image, and a PNG of 512 MB
 * in chunks of 8 KB, as most encoders write them, has 65,000.
 */
const mostTakes = 100_000

/** Reads after which other work has its turn: some milliseconds. */
const takesPerTurn = 1000

const none: Buffer = Buffer.alloc(0)

/**
 * Reads a file from its start to its end, and leaves out what is skipped. An end that comes too early refuses the picture as broken, and so do
 * more small parts than a real picture has. Other work of the node has its turn in between.
 */
export class PictureBytes {
  readonly #source: PictureSource
  #chunks: AsyncIterator<Uint8Array> | null = null
  /** The bytes that are left of the chunk that came last. */
  #rest: Buffer = none
  #position = 0
  #takes = 0

  constructor(source: PictureSource) {
    this.#source = source
  }

  /** Bytes of the file. */
  get size(): number {
    return this.#source.size
  }

  /** The offset of the next byte. */
  get position(): number {
    return this.#position
  }

  /** Returns bytes from the position on, at least one, without passing them. There are none at the end of the file. */
  async peek(): Promise<Buffer> {
    const { size } = this.#source
    while (this.#rest.length === 0 && this.#position < size) {
      this.#chunks ??= this.#source.read(this.#position, size - 1)[Symbol.asyncIterator]()
      const { done, value } = await this.#chunks.next()
      if (done) throw new RefusedPicture('broken')
      await nextTurn()
      this.#rest = Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    }
    return this.#rest
  }

  /** Returns a copy of the next bytes, as many as there are up to a number, without passing them. */
  async look(most: number): Promise<Buffer> {
    const bytes = await this.take(Math.min(most, this.size - this.#position))
    this.#rest = Buffer.concat([bytes, this.#rest])
    this.#position -= bytes.length
    return bytes
  }

  /** Passes bytes that `peek` has returned. */
  pass(count: number): void {
    this.#rest = this.#rest.subarray(count)
    this.#position += count
  }

  /** Returns a copy of the next bytes, and passes them. */
  async take(count: number): Promise<Buffer> {
    this.#checkRoom(count)
    this.#takes += 1
    if (this.#takes > mostTakes) throw new RefusedPicture('broken')
    if (this.#takes % takesPerTurn === 0) await nextTurn()
    const taken = Buffer.alloc(count)
    for (let filled = 0; filled < count; ) {
      const copied = (await this.peek()).copy(taken, filled)
      this.pass(copied)
      filled += copied
    }
    return taken
  }

  async skip(count: number): Promise<void> {
    this.#checkRoom(count)
    if (count - this.#rest.length > nearBytes) {
      await this.close()
      this.#position += count
      return
    }
    for (let left = count; left > 0; ) {
      const step = Math.min(left, (await this.peek()).length)
      this.pass(step)
      left -= step
    }
  }

  /** Closes the file. A later read opens it again. */
  async close(): Promise<void> {
    const chunks = this.#chunks
    this.#chunks = null
    this.#rest = none
    await chunks?.return?.()
  }

  #checkRoom(count: number): void {
    if (count < 0 || count > this.#source.size - this.#position) throw new RefusedPicture('broken')
  }
}
