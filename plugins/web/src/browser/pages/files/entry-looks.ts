import { bytesText } from '../../bytes-text.ts'
import type { EntryParts, FolderSize } from './entry-parts.ts'
import type { Entry } from './listing.ts'

/** The size of a file, or of a folder if it is known; otherwise an empty text. */
export function sizeText({ size }: Entry, ofFolder: FolderSize | undefined): string {
  const bytes = size ?? ofFolder?.bytes
  return bytes === undefined ? '' : bytesText(bytes)
}

/** The size of entries together; an empty text with a folder, whose size is not known. */
export function sizeOfAll(entries: readonly Entry[]): string {
  if (entries.some(({ type }) => type === 'directory')) return ''
  return bytesText(entries.reduce((sum, { size = 0 }) => sum + size, 0))
}

/** The classes of an entry, by its state. */
export function entryClass(base: 'row' | 'tile', index: number, path: string, parts: EntryParts): string {
  const { folder, actions, dragged } = parts
  const states = {
    active: folder.selection.active.value === index,
    cut: actions.isCut(path),
    over: dragged.value?.folder === path,
  }
  return [base, ...Object.entries(states).flatMap(([name, holds]) => (holds ? [name] : []))].join(' ')
}
