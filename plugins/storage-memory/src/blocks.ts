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

/** Yields the bytes from `start` to `end`, inclusive, as views of the blocks. */
export function* slice(blocks: readonly Uint8Array[], start: number, end: number): Iterable<Uint8Array> {
  for (let index = Math.floor(start / blockSize); index * blockSize <= end; index += 1) {
    const first = index * blockSize
    const piece = blocks[index]?.subarray(Math.max(start - first, 0), end - first + 1)
    if (piece !== undefined && piece.length > 0) yield piece
  }
}
