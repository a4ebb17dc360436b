import { type FileEntry, type FileMoveOptions, NodekeepError } from '@nodekeep/plugin-sdk'
import type { UserPath } from '../paths/user-path.ts'
import { stagingPathFor } from './copy-across-mounts.ts'
import { checkTransfer, copyIntoPlace, refuseImpossible } from './moving.ts'
import { stat } from './reading.ts'
import type { Scope } from './scope.ts'

/** Copies a file or folder. The copy appears at the destination in one step. */
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
    const { replaced } = await checkTransfer(scope, source, destination, options)
    await copyIntoPlace(scope, { source, staging, destination, replaced }, { ...options, keepCreated: false })
    return await stat(scope, destination)
  } finally {
    release()
  }
}
