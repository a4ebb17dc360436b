import { byOtherPrograms, type ChangeIntent, isShown } from '../journal/change.ts'
import type { Journal } from '../journal/journal.ts'
import type { Mounts } from '../mounts/mounts.ts'
import { withStorageLimit } from '../mounts/storage-limit.ts'
import { foldersAbove, root, type UserPath } from '../paths/user-path.ts'

/**
 * Records the folders that a change made above its path before it failed, or a crash ended it: nobody else takes note of them. Devices learn of them
 * as of those of other programs, also the one that asked for the change.
 *
 * @returns the number of the last row; null if there are none
 */
export async function recordLeftFolders(
  intent: ChangeIntent,
  journal: Journal,
  mounts: Mounts,
): Promise<number | null> {
  // A copy that is not placed goes with all that is in it.
  if (!isShown(intent)) return null
  const { userUuid, path } = intent
  const entries = await journal.entriesOf(userUuid)
  const missing = foldersAbove(path as UserPath)
    .filter(
      (folder) => folder !== root && !mounts.holdsMount(folder) && entries.at(userUuid, folder) === null,
    )
    .toReversed()
  const found: ChangeIntent[] = []
  for (const folder of missing) {
    if ((await withStorageLimit(mounts.entryAt(userUuid, folder)))?.type !== 'directory') break
    found.push({ userUuid, op: 'mkdir', path: folder, by: byOtherPrograms })
  }
  return found.length === 0 ? null : journal.add(found)
}
