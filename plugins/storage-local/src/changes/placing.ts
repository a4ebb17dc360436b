import { NodekeepError } from '@nodekeep/plugin-sdk'
import { isDiskError } from '../disk/disk-errors.ts'
import { type Folder, find } from '../folders/folder.ts'
import { prepareFolders } from '../folders/prepared-folders.ts'
import { openFolder, type Reached } from '../folders/walk.ts'
import type { Store } from './store.ts'

/** So often a folder may go or come under a change before the change is given up. */
const attempts = 100

/**
 * Tries something that others may make impossible between the look and the act, such as a rename into a folder that
 * was just removed: as long as `attempt` answers null or the folder is gone, with another look.
 */
export async function persist<T>(attempt: () => Promise<T | null>): Promise<T> {
  for (let count = 0; count < attempts; count += 1) {
    try {
      const result = await attempt()
      if (result !== null) return result
    } catch (error) {
      if (!isDiskError(error, 'ENOENT')) throw error
    }
  }
  throw new NodekeepError('SERVICE_UNAVAILABLE', 'The folder changes all the time. Try again in a moment.')
}

/** What new folders are to have in them when they appear. */
export interface Contents {
  put(innermost: Folder): Promise<void>
  /** Called when contents and folders are on the disk, before they appear. */
  announce(): Promise<void>
  takeBack(innermost: Folder): Promise<void>
}

/**
 * Puts new folders in place, those for which a walk found nothing, and their contents with them. One at a time does so
 * at one place.
 *
 * @returns null when somebody else was faster; then nothing has happened
 */
export async function placeFolders(
  store: Store,
  { names, missing }: Pick<Reached, 'names' | 'missing'>,
  contents?: Contents,
): Promise<true | null> {
  const { disk, root, locks, syncs } = store
  const [first] = missing
  if (first === undefined) return true
  return locks.hold([`in /${names.join('/')}`], async () => {
    const folder = await openFolder(disk, root, names)
    try {
      if ((await find(disk, folder, first)) !== null) return null
      await prepareAndRename(store, missing, folder.at(first), contents)
      await syncs.settle(names, folder)
      return true
    } catch (error) {
      if (isDiskError(error, 'ENOTEMPTY', 'EEXIST', 'ENOTDIR')) return null
      throw error
    } finally {
      folder.close()
    }
  })
}

async function prepareAndRename(
  { disk, side }: Store,
  names: readonly string[],
  destination: string,
  contents: Contents | undefined,
): Promise<void> {
  const prepared = await prepareFolders(disk, side, names)
  try {
    await contents?.put(prepared.innermost)
    await prepared.sync()
    await contents?.announce()
    await disk.rename(prepared.path, destination)
  } catch (error) {
    await contents?.takeBack(prepared.innermost).catch(() => {})
    throw error
  } finally {
    await prepared.end()
  }
}
