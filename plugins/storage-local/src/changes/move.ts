import { NodekeepError } from '@nodekeep/plugin-sdk'
import type { Disk } from '../disk/disk.ts'
import { isDiskError, notFound } from '../disk/disk-errors.ts'
import { type Folder, type Found, find } from '../folders/folder.ts'
import { openFolder, walk } from '../folders/walk.ts'
import { linkInTheWay } from './conflicts.ts'
import { type KeptPlace, openKeptPlace, renameOver } from './kept-place.ts'
import { makeMissing, retryWhileChanging } from './parent-folders.ts'
import { replace } from './replacement.ts'
import type { Store } from './store.ts'

/** A move of the file or folder with the names `source` to the names `destination`. */
interface Move {
  readonly source: readonly string[]
  readonly destination: readonly string[]
  readonly overwrite: boolean
  /** The path at which what is replaced is kept. */
  readonly keepReplacedAt?: string | undefined
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
  { source, destination, overwrite, keepReplacedAt, onApplied }: Move,
): Promise<true | null> {
  const { disk, root, syncs } = store
  const parents = destination.slice(0, -1)
  const walked = await walk(disk, root, parents)
  try {
    if (walked.missing.length > 0) {
      await makeMissing(disk, walked)
      return null
    }
    const replaced = await findReplaced(disk, walked.folder, destination.at(-1) ?? '', overwrite)
    const keptAt = replaced === null ? undefined : keepReplacedAt
    using place = keptAt === undefined ? null : await openKeptPlace(store, keptAt)
    await moveInto(store, moved, walked.folder, { source, destination, replaced, place })
    onApplied()
    // The destination first: at any time one of the two has to be on the disk.
    await Promise.all([place?.makeDurable(), syncs.makeDurable(parents, walked.folder)])
    await syncs.sync(moved.parent)
    return true
  } finally {
    walked.folder.close()
  }
}

/** Returns the file or folder that the move replaces; null if there is none. */
async function findReplaced(
  disk: Disk,
  folder: Folder,
  name: string,
  overwrite: boolean,
): Promise<Found | null> {
  const there = await find(disk, folder, name)
  if (there === null) return null
  if (!overwrite)
    throw new NodekeepError(
      'CONFLICT',
      'A file or folder exists at the destination. Choose another destination, or ask to overwrite.',
    )
  if (!there.stats.isFile() && !there.stats.isDirectory()) throw linkInTheWay()
  return there
}

/** The last step of a move. */
interface LastStep extends Pick<Move, 'source' | 'destination'> {
  readonly replaced: Found | null
  /** The place at which what is replaced is kept; null if it is not. */
  readonly place: KeptPlace | null
}

async function moveInto(
  store: Store,
  { parent, found }: Moved,
  folder: Folder,
  { source, destination, replaced, place }: LastStep,
): Promise<void> {
  const from = parent.at(found.stored)
  const to = folder.at(replaced?.stored ?? destination.at(-1) ?? '')
  const isFolder = found.stats.isDirectory()
  const replacesFolder = replaced?.stats.isDirectory() ?? false
  if (replaced === null || !(isFolder || replacesFolder)) await renameOver(store, from, to, place)
  else await replace(store, from, to, { names: destination, place })
  if (isFolder) store.syncs.forget(source)
  if (isFolder || replacesFolder) store.syncs.forget(destination)
}
