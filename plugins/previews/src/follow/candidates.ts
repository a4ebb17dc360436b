import type { IndexedEntry } from '@nodekeep/plugin-sdk'
import { isPreviewedPicture, isPreviewedSound } from '@nodekeep/plugin-sdk/preview-names'

/**
 * Whether a file gets a preview before anybody asks, by its name and its size. A file with another name gets one by its content, when somebody
 * asks.
 */
export function mayHavePreview({ type, name, size }: IndexedEntry, maxFileSize: number): boolean {
  const isNamed = isPreviewedPicture(name) || isPreviewedSound(name)
  return type === 'file' && size > 0 && size <= maxFileSize && isNamed
}
