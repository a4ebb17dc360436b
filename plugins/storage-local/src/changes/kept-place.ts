import type { Folder } from '../folders/folder.ts'
import { namesOf, walk } from '../folders/walk.ts'
import { makeMissing, retryWhileChanging } from './parent-folders.ts'
import type { Store } from './store.ts'

/** The place at which a file or folder is kept that a change replaces. Nothing is there yet. */
export interface KeptPlace extends Disposable {
  /** Its names from the root on. */
  readonly names: readonly string[]
  /** Its path, for the disk only. */
  readonly at: string
  /** Resolves when what was put there survives a power loss. */
  makeDurable(): Promise<void>
}

/** Opens the folder of a place. Makes it and its parents, durable, if they are missing. */
export async function openKeptPlace(store: Store, path: string): Promise<KeptPlace> {
  const { disk, root, syncs } = store
  const names = namesOf(path)
  const parents = names.slice(0, -1)
  let isNew = false
  const folder = await retryWhileChanging(async (): Promise<Folder | null> => {
    const walked = await walk(disk, root, parents)
    if (walked.missing.length === 0) return walked.folder
    isNew = true
    try {
      await makeMissing(disk, walked)
    } finally {
      walked.folder.close()
    }
    return null
  })
  const place: KeptPlace = {
    names,
    at: folder.at(names.at(-1) ?? ''),
    makeDurable: () => syncs.makeDurable(parents, folder),
    [Symbol.dispose]: () => folder.close(),
  }
  if (!isNew) return place
  try {
    await place.makeDurable()
    return place
  } catch (error) {
    place[Symbol.dispose]()
    throw error
  }
}

/**
 * Renames a file over another one, which a second link keeps. At any time the replaced file has one of the two names.
 *
 * @param place null if nothing is kept
 */
export async function renameOver(
  { disk }: Store,
  from: string,
  to: string,
  place: KeptPlace | null,
): Promise<void> {
  if (place === null) return disk.rename(from, to)
  await disk.link(to, place.at)
  await disk.rename(from, to).catch(async (error: unknown) => {
    await disk.unlink(place.at).catch(() => {})
    throw error
  })
}
