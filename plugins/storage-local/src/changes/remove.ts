import type { StorageConditions } from '@nodekeep/plugin-sdk'
import { isDiskError, notFound } from '../disk/disk-errors.ts'
import { find } from '../folders/folder.ts'
import { openFolder } from '../folders/walk.ts'
import { revisionOf } from '../reading/entry.ts'
import { otherRevision } from './obstacles.ts'
import type { Store } from './store.ts'

/**
 * Takes away what has these names. A folder goes at once as a whole, into the side folder, where it is taken apart
 * afterwards.
 */
export async function remove(
  { disk, root, side, syncs, discard }: Store,
  names: readonly string[],
  { ifRevision }: Pick<StorageConditions, 'ifRevision'>,
): Promise<void> {
  const parents = names.slice(0, -1)
  const folder = await openFolder(disk, root, parents).catch((error: unknown) => {
    throw isDiskError(error, 'ENOTDIR') ? notFound() : error
  })
  try {
    const found = await find(disk, folder, names.at(-1) ?? '')
    const isFolder = found?.stats.isDirectory() ?? false
    if (found === null || !(isFolder || found.stats.isFile())) throw notFound()
    if (ifRevision !== undefined && (isFolder || revisionOf(found.stats) !== ifRevision))
      throw otherRevision()
    if (isFolder) {
      const leftover = side.freshName('removed')
      await disk.rename(folder.at(found.stored), side.at(leftover))
      syncs.forget()
      discard(leftover)
    } else {
      await disk.unlink(folder.at(found.stored))
    }
    await syncs.settle(parents, folder)
  } finally {
    folder.close()
  }
}
