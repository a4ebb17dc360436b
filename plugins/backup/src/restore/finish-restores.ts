import { isNodekeepError, type Log, type Restored } from '@nodekeep/plugin-sdk'
import type { RestoreFolders } from './restore-folder.ts'
import { twoNodesWarning } from './restored-identity.ts'

/**
 * Keeps the former data of the restore that the start has applied, and removes what other restores have left. Never rejects.
 *
 * @param restored the restore that the start has applied; null if it has applied none
 */
export async function finishRestores(
  folders: RestoreFolders,
  restored: Restored | null,
  log: Pick<Log, 'warn'>,
): Promise<void> {
  try {
    const finished = await folders.finish()
    if (finished?.record.differences?.identity === 'another')
      log.warn(
        { backup: finished.record.backup },
        `The node has the identity of a restored backup. ${twoNodesWarning}`,
      )
    await restored?.acknowledge()
    using _lock = folders.lock()
    await folders.removeUnplanned()
  } catch (err) {
    // A command that prepares a restore now removes the others itself.
    if (isNodekeepError(err) && err.code === 'CONFLICT') return
    log.warn({ err }, 'The remains of earlier restores could not be removed. The next start tries again.')
  }
}
