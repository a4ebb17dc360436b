import { NodekeepError, type NodeRestores } from '@nodekeep/plugin-sdk'
import { explainFullDisk } from '../create/free-space.ts'
import type { RestoreFolder, RestoreFolders } from './restore-folder.ts'

/**
 * Lets the next start of the node put a prepared restore in place, instead of an earlier one that was not applied yet. The caller
 * has the lock of the restores. A restore that cannot be planned is removed.
 *
 * @returns the backup of the earlier one; `null` if none was planned
 * @throws NodekeepError VALIDATION_ERROR if the data has changed so that the moves do not fit any more; INSUFFICIENT_STORAGE
 */
export async function planRestore(
  folder: RestoreFolder,
  folders: RestoreFolders,
  restores: NodeRestores,
): Promise<string | null> {
  const { moment, moves } = folder.record
  if (moves === undefined) throw new Error('A restore that is ready has no moves.')
  const earlier = await folders.planned()
  try {
    await folders.finish()
    await restores.plan({ backup: folder.name, takenAt: new Date(moment), moves })
  } catch (error) {
    if (earlier?.name !== folder.name) await folder.remove()
    throw explainFullDisk(error, 'this restore')
  }
  await folders.removeUnplanned()
  return earlier === null || earlier.name === folder.name ? null : earlier.record.backup
}

/**
 * Takes a restore back that is prepared or planned, and removes what was unpacked for it. The caller has the lock of the restores.
 *
 * @returns the name of the backup
 * @throws NodekeepError NOT_FOUND if there is none
 */
export async function cancelRestore(folders: RestoreFolders, restores: NodeRestores): Promise<string> {
  const planned = await folders.planned()
  await restores.cancel()
  const [removed] = await folders.removeUnplanned()
  const backup = planned?.record.backup ?? removed
  if (backup === undefined) throw nothingToCancel()
  return backup
}

export function nothingToCancel(): NodekeepError {
  return new NodekeepError('NOT_FOUND', 'No restore is prepared or planned.')
}
