import { NodekeepError } from '@nodekeep/plugin-sdk'
import { isDiskError, notFound } from '../disk/disk-errors.ts'
import { type Folder, type Found, find } from '../folders/folder.ts'
import { intending } from '../folders/intent.ts'
import { removeEmpty } from '../folders/removal.ts'
import { openFolder, type Reached, walk } from '../folders/walk.ts'
import { linkThere } from './obstacles.ts'
import { persist, placeFolders } from './placing.ts'
import { replace } from './replacement.ts'
import type { Store } from './store.ts'

/** Moves what has the names `source` to the names `destination`. Missing parents are made. */
export async function move(
  store: Store,
  source: readonly string[],
  destination: readonly string[],
  overwrite: boolean,
): Promise<void> {
  if (startsWith(destination, source) || startsWith(source, destination)) throw intoItself()
  const { disk, root } = store
  const parent = await openFolder(disk, root, source.slice(0, -1)).catch((error: unknown) => {
    throw isDiskError(error, 'ENOTDIR') ? notFound() : error
  })
  try {
    await persist(async () => {
      const found = await find(disk, parent, source.at(-1) ?? '')
      if (found === null || !(found.stats.isFile() || found.stats.isDirectory())) throw notFound()
      return moveFound(store, { parent, found, source }, destination, overwrite)
    })
  } finally {
    parent.close()
  }
}

/** What is to move, and where it is. */
interface Mover {
  readonly parent: Folder
  readonly found: Found
  readonly source: readonly string[]
}

async function moveFound(
  store: Store,
  mover: Mover,
  destination: readonly string[],
  overwrite: boolean,
): Promise<true | null> {
  const { disk, root, syncs } = store
  const parents = destination.slice(0, -1)
  const reached = await walk(disk, root, parents)
  if (reached.missing.length > 0) {
    reached.folder.close()
    return moveIntoNew(store, reached, () => moveFound(store, mover, destination, overwrite))
  }
  const { folder } = reached
  try {
    await moveInto(store, mover, folder, destination, overwrite)
    // The new place first: at no moment may the disk know neither.
    await syncs.settle(parents, folder)
    await syncs.settle(mover.source.slice(0, -1), mover.parent)
    return true
  } finally {
    folder.close()
  }
}

/** Makes the missing folders, then moves; when that fails, they are removed again. */
async function moveIntoNew(
  store: Store,
  { names, missing }: Reached,
  moveOn: () => Promise<true | null>,
): Promise<true | null> {
  let moved: true | null = null
  await intending(store, { kind: 'make', names, missing }, async () => {
    if ((await placeFolders(store, { names, missing })) === null) return
    try {
      moved = await moveOn()
    } catch (error) {
      await removeEmpty(store.disk, store.root, { names, missing }).catch(() => {})
      throw error
    }
  })
  return moved
}

async function moveInto(
  store: Store,
  { parent, found }: Mover,
  folder: Folder,
  destination: readonly string[],
  overwrite: boolean,
): Promise<void> {
  const { disk, syncs } = store
  const name = destination.at(-1) ?? ''
  const there = await find(disk, folder, name)
  if (there !== null) {
    if (!overwrite)
      throw new NodekeepError('CONFLICT', 'Something exists at the destination. Ask for overwriting.')
    if (!there.stats.isFile() && !there.stats.isDirectory()) throw linkThere()
  }
  const from = parent.at(found.stored)
  const to = folder.at(there?.stored ?? name)
  if (there === null || (there.stats.isFile() && found.stats.isFile())) await disk.rename(from, to)
  else await replace(store, from, to, destination)
  if (found.stats.isDirectory() || there?.stats.isDirectory()) syncs.forget()
}

function startsWith(names: readonly string[], beginning: readonly string[]): boolean {
  return beginning.every((name, index) => names[index] === name)
}

function intoItself(): NodekeepError {
  return new NodekeepError(
    'CONFLICT',
    'Nothing can be moved onto itself, into itself, or onto a folder that it is in.',
  )
}
