import { type FileEntry, type FileMoveOptions, NodekeepError } from '@nodekeep/plugin-sdk'
import type { UserPath } from '../paths/user-path.ts'
import { stat } from './reading.ts'
import type { Scope } from './scope.ts'
import { copyIntoPlace, stagingPathFor } from './transfer.ts'
import { checkTransfer, refuseImpossible } from './transfer-checks.ts'

/** Copies a file or folder. If the storage moves it in one step, the copy appears at the destination in one step. */
export async function copy(
  scope: Scope,
  source: UserPath,
  destination: UserPath,
  options: FileMoveOptions = {},
): Promise<FileEntry> {
  refuseImpossible(source, destination, 'copied')
  const staging = stagingPathFor(destination, 'copying')
  const release = await scope.lock([source, destination, staging], options.signal)
  try {
    if (scope.mounts.holdsMount(source)) {
      const message = `"${source}" is a mount or contains one. Copy the files and folders in it.`
      throw new NodekeepError('CONFLICT', message)
    }
    const checked = await checkTransfer(scope, source, destination, options)
    const transfer = { source, destination, staging, ...checked }
    await copyIntoPlace(scope, transfer, { ...options, keepCreated: false })
    return await stat(scope, destination)
  } finally {
    release()
  }
}
