import type { StorageRemoveOptions } from '@nodekeep/plugin-sdk'
import { isDiskError, notFound } from '../disk/disk-errors.ts'
import { type Folder, type Found, find } from '../folders/folder.ts'
import { openFolder } from '../folders/walk.ts'
import { revisionOf } from '../reading/entry.ts'
import { notEmpty, otherRevision } from './conflicts.ts'
import type { Store } from './store.ts'

/**
 * Removes the file, folder or link with these names. A folder disappears whole, by a rename into the staging folder,
 * and its content is removed afterwards. A symbolic link is removed itself, never its target.
 *
 * @param onApplied called when it is gone
 */
export async function remove(
  store: Store,
  names: readonly string[],
  options: StorageRemoveOptions,
  onApplied: () => void,
): Promise<void> {
  const { disk, root, syncs } = store
  const folder = await openFolder(disk, root, names.slice(0, -1)).catch((error: unknown) => {
    throw isDiskError(error, 'ENOTDIR') ? notFound() : error
  })
  try {
    const found = await find(disk, folder, names.at(-1) ?? '')
    if (found === null) throw notFound()
    await removeFound(store, names, { folder, found }, options)
    onApplied()
    // Without the folders above: if the way to this folder is lost, so is what was in it.
    await syncs.sync(folder)
  } finally {
    folder.close()
  }
}

async function removeFound(
  { disk, staging, syncs, discards }: Store,
  names: readonly string[],
  { folder, found: { stored, stats } }: { readonly folder: Folder; readonly found: Found },
  { ifRevision, onlyIfEmpty }: StorageRemoveOptions,
): Promise<void> {
  const path = folder.at(stored)
  const isFolder = stats.isDirectory()
  if (ifRevision !== undefined && !(stats.isFile() && revisionOf(stats) === ifRevision)) throw otherRevision()
  if (onlyIfEmpty) {
    if (!isFolder) throw notEmpty()
    await disk.rmdir(path).catch((error: unknown) => {
      throw isDiskError(error, 'ENOTEMPTY', 'EEXIST', 'ENOTDIR', 'EBUSY') ? notEmpty() : error
    })
    syncs.forgetEmpty(names)
  } else if (isFolder) {
    const discarded = staging.freshName('removed')
    await disk.rename(path, staging.at(discarded))
    syncs.forget(names)
    discards.add(discarded)
  } else {
    await disk.unlink(path)
  }
}
