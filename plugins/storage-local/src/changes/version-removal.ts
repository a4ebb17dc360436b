import type { Disk } from '../disk/disk.ts'
import { isDiskError } from '../disk/disk-errors.ts'
import { revisionOf } from '../reading/entry.ts'
import { otherRevision } from './obstacles.ts'
import type { Store } from './store.ts'

/**
 * Removes a file if it has a revision. Another program may put another file in its place just after the look at it, so
 * the file is taken aside first, and looked at where nobody else can change what is there.
 *
 * @param path of a file that had the revision a moment ago
 * @throws NodekeepError PRECONDITION_FAILED when something else was taken; it is back in its place then
 */
export async function removeVersion(
  { disk, side, hasLinks }: Store,
  path: string,
  revision: string,
): Promise<void> {
  const aside = side.at(side.freshName('removed'))
  await disk.rename(path, aside)
  const stats = await disk.lstat(aside)
  if (stats.isFile() && revisionOf(stats) === revision) {
    await disk.unlink(aside)
    return
  }
  await giveBack(disk, aside, path, hasLinks && !stats.isDirectory())
  throw otherRevision()
}

/** What took the place meanwhile counts, as it would have without us. A link, unlike a rename, leaves it alone. */
async function giveBack(disk: Disk, aside: string, path: string, byLink: boolean): Promise<void> {
  if (!byLink) return disk.rename(aside, path)
  await disk.link(aside, path).catch((error: unknown) => {
    if (!isDiskError(error, 'EEXIST')) throw error
  })
  await disk.unlink(aside)
}
