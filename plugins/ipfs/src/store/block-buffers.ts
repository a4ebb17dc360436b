import { mostBlockBytes } from './pack-format.ts'

/** Buffers that are kept for the next blocks. */
const mostBuffers = 16

/** Bytes from which on a block goes to the thread in memory that both share. */
const leastBytes = 16 * 1024

/** Milliseconds for which buffers are kept that no block needs. */
const keptMs = 1000

/**
 * Memory in which blocks go to the writer thread, and which is used again. New memory for each block costs both threads more time, for
 * pages of the system and for collections of the heap, than all else that they do with the block.
 */
export class BlockBuffers {
  #buffers: SharedArrayBuffer[] = []
  #timer: NodeJS.Timeout | undefined

  /** Returns a copy that can be sent. Give it back by {@link giveBack} when the thread is done with it. */
  copyOf(bytes: Uint8Array): Uint8Array {
    if (bytes.length < leastBytes) return new Uint8Array(bytes)
    const buffer = this.#buffers.pop() ?? new SharedArrayBuffer(mostBlockBytes)
    const copy = new Uint8Array(buffer, 0, bytes.length)
    copy.set(bytes)
    return copy
  }

  giveBack({ buffer }: Uint8Array): void {
    if (!(buffer instanceof SharedArrayBuffer) || this.#buffers.length >= mostBuffers) return
    this.#buffers.push(buffer)
    this.#timer ??= setTimeout(() => this.#free(), keptMs).unref()
    this.#timer.refresh()
  }

  #free(): void {
    this.#buffers = []
    this.#timer = undefined
  }
}
