import { extensionOf, type FileKind, fileKindOf } from '@nodekeep/plugin-sdk/file-kinds'
import type { TextFormat } from './inside/order.ts'

/** The types of entries that a search can be narrowed to. */
export const kinds = ['picture', 'audio', 'video', 'document', 'text', 'archive', 'folder'] as const

/** The type of an entry; `other` for a file of none of the types. */
export type Kind = (typeof kinds)[number] | 'other'

/** A search tells fewer types apart than a list of files. */
const kindOfFile: Readonly<Record<FileKind, Kind>> = {
  picture: 'picture',
  audio: 'audio',
  video: 'video',
  document: 'document',
  table: 'document',
  slides: 'document',
  text: 'text',
  code: 'text',
  archive: 'archive',
  program: 'other',
  other: 'other',
}

/** Tables that are texts. */
const textTables = new Set(['csv', 'tsv'])

/** Files that have other things than text, and no type. */
const otherExtensions = new Set(
  'dat db sqlite sqlite3 wal ttf otf woff woff2 eot img vmdk qcow2 vdi bak tmp part'.split(' '),
)

const pages = new Set(['html', 'htm', 'xhtml'])

/** The most bytes of a file that is tried as a text because nothing tells its type. */
const mostUnknownBytes = 1024 ** 2

/** The type of an entry, by its name. */
export function kindOf({ name, type }: { readonly name: string; readonly type: 'file' | 'directory' }): Kind {
  return type === 'directory' ? 'folder' : fileTypeOf(name)
}

/** The format of the text of a file, by its name; null if it has none. */
export function formatOf({
  name,
  size,
}: {
  readonly name: string
  readonly size: number
}): TextFormat | null {
  const extension = extensionOf(name)
  if (pages.has(extension)) return 'html'
  if (extension === 'pdf') return 'pdf'
  if (fileTypeOf(name) === 'text') return 'text'
  const isUnknown = fileKindOf(name) === 'other' && !otherExtensions.has(extension)
  return isUnknown && size <= mostUnknownBytes ? 'text' : null
}

function fileTypeOf(name: string): Kind {
  return textTables.has(extensionOf(name)) ? 'text' : kindOfFile[fileKindOf(name)]
}
