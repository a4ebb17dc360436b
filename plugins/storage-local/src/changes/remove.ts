import type { StorageRemoveOptions } from '@nodekeep/plugin-sdk'
import { isDiskError, notFound } from '../disk/disk-errors.ts'
import { type Folder, type Found, find } from '../folders/folder.ts'
import { openFolder } from '../folders/walk.ts'
import { revisionOf } from '../reading/entry.ts'
import { notEmpty, otherRevision } from './obstacles.ts'
import type { Store } from './store.ts'
import { removeVersion } from './version-removal.ts'

/**
 * Takes away what has these names. A folder goes at once as a whole, into the side folder, where it is taken apart
 * afterwards. Of a symbolic link, the link goes, and never what it leads to.
 */
export async function remove(
  store: Store,
  names: readonly string[],
  options: StorageRemoveOptions,
): Promise<void> {
  const { disk, root, syncs } = store
  const parents = names.slice(0, -1)
  const folder = await openFolder(disk, root, parents).catch((error: unknown) => {
    throw isDiskError(error, 'ENOTDIR') ? notFound() : error
  })
  try {
    const found = await find(disk, folder, names.at(-1) ?? '')
    if (found === null) throw notFound()
    await removeFound(store, folder, found, options)
    await syncs.settle(parents, folder)
  } finally {
    folder.close()
  }
}

async function removeFound(
  store: Store,
  folder: Folder,
  { stored, stats }: Found,
  { ifRevision, onlyIfEmpty }: StorageRemoveOptions,
): Promise<void> {
  const { disk, side, syncs, discard } = store
  const path = folder.at(stored)
  const isFolder = stats.isDirectory()
  if (ifRevision !== undefined && !(stats.isFile() && revisionOf(stats) === ifRevision)) throw otherRevision()
  if (onlyIfEmpty) {
    if (!isFolder) throw notEmpty()
    await disk.rmdir(path).catch((error: unknown) => {
      throw isDiskError(error, 'ENOTEMPTY', 'EEXIST', 'ENOTDIR', 'EBUSY') ? notEmpty() : error
    })
    syncs.forget()
  } else if (isFolder) {
    const leftover = side.freshName('removed')
    await disk.rename(path, side.at(leftover))
    syncs.forget()
    discard(leftover)
  } else if (ifRevision !== undefined) {
    await removeVersion(store, path, ifRevision)
  } else {
    await disk.unlink(path)
  }
}
