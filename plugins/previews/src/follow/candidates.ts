import type { IndexedEntry } from '@nodekeep/plugin-sdk'

/** Names of files that get a preview before anybody asks. A file with another name gets one by its content, when somebody asks. */
const names = /\.(?:jpe?g|jpe|jfif|png|webp|gif|avif|heic|heif|mp3|flac|m4a|m4b|ogg|oga|opus)$/i

/** Whether a file may have a preview, by its name and its size. */
export function mayHavePreview({ type, name, size }: IndexedEntry, maxFileSize: number): boolean {
  return type === 'file' && size > 0 && size <= maxFileSize && names.test(name)
}
