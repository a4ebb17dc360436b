import { mostBlockBytes } from './pack-format.ts'

/** Buffers that are kept for the next blocks. */
const mostBuffers = 16

/** Bytes from which on a block goes to the thread in a buffer of its own. */
const leastBytes = 16 * 1024

/** Milliseconds for which buffers are kept that no block needs. */
const keptMs = 1000

/**
 * Buffers in which blocks go to the writer thread and which come back. Without them, the memory of each MiB is new, and both threads
 * spend more time on collecting it than on the blocks.
 */
export class BlockBuffers {
  #buffers: ArrayBuffer[] = []
  #timer: NodeJS.Timeout | undefined

  /** Returns a copy whose buffer can be transferred. */
  copyOf(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
    if (bytes.length < leastBytes) return new Uint8Array(bytes)
    const copy = new Uint8Array(this.#buffers.pop() ?? new ArrayBuffer(mostBlockBytes), 0, bytes.length)
    copy.set(bytes)
    return copy
  }

  /** Takes buffers back. They are freed when no block has needed one for a while. */
  add(buffers: readonly ArrayBuffer[]): void {
    for (const buffer of buffers) {
      if (buffer.byteLength === mostBlockBytes && this.#buffers.length < mostBuffers)
        this.#buffers.push(buffer)
    }
    if (this.#buffers.length === 0) return
    this.#timer ??= setTimeout(() => this.#free(), keptMs).unref()
    this.#timer.refresh()
  }

  #free(): void {
    this.#buffers = []
    this.#timer = undefined
  }
}
