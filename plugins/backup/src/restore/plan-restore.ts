import type { NodeRestores } from '@nodekeep/plugin-sdk'
import { explainFullDisk } from '../create/free-space.ts'
import type { RestoreFolder, RestoreFolders } from './restore-folder.ts'

interface PlanParts {
  readonly folders: RestoreFolders
  readonly restores: NodeRestores
}

/**
 * Lets the next start of the node put a prepared restore in place, instead of an earlier one that was not applied yet.
 *
 * @throws NodekeepError VALIDATION_ERROR if the data has changed so that the moves do not fit any more; INSUFFICIENT_STORAGE
 */
export async function planRestore(folder: RestoreFolder, { folders, restores }: PlanParts): Promise<void> {
  const { moment, moves } = folder.record
  if (moves === undefined) throw new Error('A restore that is ready has no moves.')
  const { state } = folder.record
  try {
    // If the process ends in between, nothing removes what the plan may need.
    await folder.note({ state: 'planned' })
    await restores.plan({ backup: folder.name, moment: new Date(moment), moves })
  } catch (error) {
    await folder.note({ state }).catch(() => {})
    throw explainFullDisk(error, 'this restore')
  }
  await folders.removeOthers(folder)
}
