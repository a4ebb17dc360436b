import { bytesText } from '../../bytes-text.ts'
import type { FolderSize } from './entry-parts.ts'
import type { Entry } from './listing.ts'

/** The size of a file, or of a folder if it is known; otherwise an empty text. */
export function sizeText({ size }: Entry, ofFolder: FolderSize | undefined): string {
  const bytes = size ?? ofFolder?.bytes
  return bytes === undefined ? '' : bytesText(bytes)
}
