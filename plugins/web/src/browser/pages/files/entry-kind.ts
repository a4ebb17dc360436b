import { type FileKind, fileKindOf } from '@nodekeep/plugin-sdk/file-kinds'
import type { Entry } from './listing.ts'

/** The kinds of entries that a person tells apart at a glance. */
export type EntryKind = FileKind | 'folder'

/** The kind of an entry, by its name. */
export function kindOf({ name, type }: Pick<Entry, 'name' | 'type'>): EntryKind {
  return type === 'directory' ? 'folder' : fileKindOf(name)
}
