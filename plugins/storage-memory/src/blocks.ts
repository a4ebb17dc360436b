const blockSize = 64 * 1024

/**
 * Collects chunks as copies, in blocks. Chunks of a network are slices of larger memory, and there may be many small
 * ones: the chunks themselves would take far more memory than their bytes.
 */
export class Blocks {
  readonly #full: Uint8Array[] = []
  #last = new Uint8Array(0)
  #filled = 0

  append(chunk: Uint8Array): void {
    for (let offset = 0; offset < chunk.length; ) {
      if (this.#filled === this.#last.length) this.#begin()
      const piece = chunk.subarray(offset, offset + blockSize - this.#filled)
      this.#last.set(piece, this.#filled)
      this.#filled += piece.length
      offset += piece.length
    }
  }

  /** Returns the blocks. All but the last are full. */
  end(): readonly Uint8Array[] {
    return this.#filled === 0 ? this.#full : [...this.#full, this.#last.slice(0, this.#filled)]
  }

  #begin(): void {
    if (this.#filled > 0) this.#full.push(this.#last)
    this.#last = new Uint8Array(blockSize)
    this.#filled = 0
  }
}

/** Returns the blocks from the one that contains the byte `start` on, and the position of the first one. */
export function blocksFrom(blocks: readonly Uint8Array[], start: number) {
  const first = Math.floor(start / blockSize)
  return { start: first * blockSize, content: each(blocks.slice(first)) }
}

async function* each(blocks: readonly Uint8Array[]): AsyncIterable<Uint8Array> {
  yield* blocks
}
