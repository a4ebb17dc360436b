import { NodekeepError } from '@nodekeep/plugin-sdk'
import { isDiskError, notFound } from '../disk/disk-errors.ts'
import { type Folder, type Found, find } from '../folders/folder.ts'
import { openFolder, walk } from '../folders/walk.ts'
import { linkInTheWay } from './conflicts.ts'
import { makeMissing, retryWhileChanging } from './parent-folders.ts'
import { replace } from './replacement.ts'
import type { Store } from './store.ts'

/** A move of the file or folder with the names `source` to the names `destination`. */
interface Move {
  readonly source: readonly string[]
  readonly destination: readonly string[]
  readonly overwrite: boolean
  /** Called when it is at the destination. */
  readonly onApplied: () => void
}

/** Moves a file or folder. Makes missing parents. */
export async function move(store: Store, asked: Move): Promise<void> {
  const { source } = asked
  const { disk, root } = store
  const parent = await openFolder(disk, root, source.slice(0, -1)).catch((error: unknown) => {
    throw isDiskError(error, 'ENOTDIR') ? notFound() : error
  })
  try {
    await retryWhileChanging(async () => {
      const found = await find(disk, parent, source.at(-1) ?? '')
      if (found === null || !(found.stats.isFile() || found.stats.isDirectory())) throw notFound()
      return moveFound(store, { parent, found }, asked)
    })
  } finally {
    parent.close()
  }
}

/** The file or folder to move. */
interface Moved {
  readonly parent: Folder
  readonly found: Found
}

/** Returns null when it made the missing parents. */
async function moveFound(
  store: Store,
  moved: Moved,
  { source, destination, overwrite, onApplied }: Move,
): Promise<true | null> {
  const { disk, root, syncs } = store
  const parents = destination.slice(0, -1)
  const walked = await walk(disk, root, parents)
  try {
    if (walked.missing.length > 0) {
      await makeMissing(disk, walked)
      return null
    }
    await moveInto(store, moved, walked.folder, { source, destination, overwrite })
    onApplied()
    // The destination first: at any time one of the two has to be on the disk.
    await syncs.makeDurable(parents, walked.folder)
    await syncs.sync(moved.parent)
    return true
  } finally {
    walked.folder.close()
  }
}

async function moveInto(
  store: Store,
  { parent, found }: Moved,
  folder: Folder,
  { source, destination, overwrite }: Omit<Move, 'onApplied'>,
): Promise<void> {
  const { disk, syncs } = store
  const name = destination.at(-1) ?? ''
  const there = await find(disk, folder, name)
  if (there !== null) {
    if (!overwrite)
      throw new NodekeepError(
        'CONFLICT',
        'A file or folder exists at the destination. Choose another destination, or ask to overwrite.',
      )
    if (!there.stats.isFile() && !there.stats.isDirectory()) throw linkInTheWay()
  }
  const from = parent.at(found.stored)
  const to = folder.at(there?.stored ?? name)
  if (there === null || (there.stats.isFile() && found.stats.isFile())) await disk.rename(from, to)
  else await replace(store, from, to, destination)
  if (found.stats.isDirectory()) syncs.forget(source)
  if (found.stats.isDirectory() || there?.stats.isDirectory()) syncs.forget(destination)
}
