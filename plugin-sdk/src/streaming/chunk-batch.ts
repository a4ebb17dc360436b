/** Bytes, and chunks, that are written with one call. */
const fullBytes = 256 * 1024
const fullChunks = 1024

/** Freeing smaller chunks by hand takes longer than the garbage collection does, in bytes. */
const minFreedBytes = 16 * 1024

/**
 * Chunks of a content that are written to a file with one call. A writer fills one batch while it writes the one before: it holds two of
 * them, however large the content is.
 */
export class ChunkBatch {
  readonly #chunks: Uint8Array[] = []
  #bytes = 0

  get bytes(): number {
    return this.#bytes
  }

  /**
   * Adds a chunk.
   *
   * @returns whether the batch is full, with 256 KiB or 1,024 chunks
   */
  add(chunk: Uint8Array): boolean {
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    return this.#bytes >= fullBytes || this.#chunks.length === fullChunks
  }

  /**
   * Writes all chunks.
   *
   * @param writev writes chunks at a position of the file, and returns how many bytes it has written, which may be fewer
   */
  async write(
    writev: (chunks: readonly Uint8Array[], position: number) => Promise<number>,
    position: number,
  ): Promise<void> {
    let left: readonly Uint8Array[] = this.#chunks
    let at = position
    while (left.length > 0) {
      const count = await writev(left, at)
      at += count
      left = after(left, count)
    }
  }

  /** Frees the memory of the chunks: see {@link freeChunk}. */
  free(): void {
    for (const chunk of this.#chunks) freeChunk(chunk)
  }
}

/**
 * Frees the memory of a chunk that nobody uses any more, if it fills its buffer. The garbage collection would let those of a large content
 * pile up.
 */
export function freeChunk({ buffer, byteLength }: Uint8Array): void {
  const isWhole = byteLength === buffer.byteLength && buffer instanceof ArrayBuffer
  if (isWhole && byteLength >= minFreedBytes) buffer.transfer(0)
}

/** Returns the buffers without their first bytes. */
function after(buffers: readonly Uint8Array[], count: number): readonly Uint8Array[] {
  let skipped = 0
  for (const [index, buffer] of buffers.entries()) {
    if (skipped + buffer.length > count)
      return [buffer.subarray(count - skipped), ...buffers.slice(index + 1)]
    skipped += buffer.length
  }
  return []
}
