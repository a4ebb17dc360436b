import type { IconName } from '../../icon.ts'
import type { EntryKind } from './entry-kind.ts'

const icons: Readonly<Record<EntryKind, IconName>> = {
  folder: 'folder',
  picture: 'image',
  audio: 'music',
  video: 'film',
  document: 'file-text',
  table: 'file-spreadsheet',
  slides: 'presentation',
  text: 'file-text',
  code: 'file-code',
  archive: 'file-archive',
  program: 'box',
  other: 'file',
}

/** The icon of a kind of entries. */
export function iconOf(kind: EntryKind): IconName {
  return icons[kind]
}
