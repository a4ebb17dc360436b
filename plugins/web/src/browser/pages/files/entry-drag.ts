import { type ReadonlySignal, signal } from '@preact/signals'
import { type Dropped, droppedFiles } from './dropped-files.ts'
import { folderOf, isWithin } from './paths.ts'

/** Something that is dragged over the page, and can be dropped there. */
export interface Dragged {
  /** Whether it comes from the device. */
  readonly isOfDevice: boolean
  /** The folder that it would be dropped into; `null` for the one that is shown. */
  readonly folder: string | null
}

/** The type of what is dragged if it is entries of this page. */
const ownType = 'application/x-nodekeep-entries'

/** The paths of the entries that a person drags. A browser tells what is dragged only at the end. */
let paths: readonly string[] = []

/** Begins to drag entries. */
export function startEntryDrag({ dataTransfer }: DragEvent, of: readonly string[]): void {
  if (dataTransfer === null) return
  paths = of
  dataTransfer.effectAllowed = 'copyMove'
  dataTransfer.setData(ownType, '')
  dataTransfer.setData('text/plain', of.join('\n'))
}

interface Drops {
  /** Takes files of the device into a folder, into the one that is shown for `null`. */
  takeFiles(files: readonly Dropped[], folder: string | null): void
  /** Takes entries into a folder. */
  takeEntries(paths: readonly string[], folder: string, how: 'move' | 'copy'): void
}

/**
 * Takes what is dropped on the page: files of the device anywhere, and entries on folders and on names of the path. Elements name their
 * folder in `data-folder`.
 *
 * @param ended ends it
 * @returns what is dragged over the page now; `null` while nothing is
 */
export function listenForDrops(
  { takeFiles, takeEntries }: Drops,
  ended: AbortSignal,
): ReadonlySignal<Dragged | null> {
  const dragged = signal<Dragged | null>(null)
  const drag = (event: DragEvent) => {
    const transfer = event.dataTransfer
    const isOwn = transfer?.types.includes(ownType) === true
    if (transfer === null || (!isOwn && !transfer.types.includes('Files'))) return
    const element =
      event.target instanceof Element ? event.target.closest<HTMLElement>('[data-folder]') : null
    const folder = element?.dataset.folder ?? null
    const isTaken = !isOwn || (folder !== null && canTake(folder))
    dragged.value = event.type === 'dragover' && isTaken ? { isOfDevice: !isOwn, folder } : null
    if (!isTaken) return
    // A file that is dropped beside the list would replace the page.
    event.preventDefault()
    const how = event.ctrlKey || event.altKey ? 'copy' : 'move'
    if (isOwn) transfer.dropEffect = how
    if (event.type !== 'drop') return
    if (!isOwn) void droppedFiles(transfer).then((files) => takeFiles(files, folder))
    else if (folder !== null) takeEntries(paths, folder, how)
  }
  const end = () => {
    dragged.value = null
  }
  for (const type of ['dragover', 'dragleave', 'drop'] as const)
    addEventListener(type, drag, { signal: ended })
  addEventListener('dragend', end, { signal: ended })
  return dragged
}

/** Whether the entries that are dragged can go into a folder: not one of them, and not the folder where they are. */
function canTake(folder: string): boolean {
  return paths.every((path) => !isWithin(folder, path) && folderOf(path) !== folder)
}
