import type { ByteRange } from '@nodekeep/plugin-sdk/stored-content'
import type { CleanedPicture, Piece } from './cleaned-picture.ts'
import type { PictureSource } from './picture-bytes.ts'

/**
 * Yields what goes out of a picture, or a range of it, which counts in what goes out. The memory of a chunk may be used again when the chunk after
 * the next one is requested.
 *
 * @param source that of the content that was planned
 */
export async function* readCleaned(
  { length, pieces }: CleanedPicture,
  source: PictureSource,
  { start, end }: ByteRange = { start: 0, end: length - 1 },
): AsyncGenerator<Uint8Array, void, undefined> {
  let passed = 0
  for (const piece of pieces) {
    const size = sizeOf(piece)
    const [from, to] = [Math.max(start - passed, 0), Math.min(end + 1 - passed, size)]
    if (from < to) {
      if (piece instanceof Uint8Array) yield piece.subarray(from, to)
      else yield* source.read(piece.start + from, piece.start + to - 1)
    }
    passed += size
    if (passed > end) return
  }
}

function sizeOf(piece: Piece): number {
  return piece instanceof Uint8Array ? piece.length : piece.end - piece.start
}
