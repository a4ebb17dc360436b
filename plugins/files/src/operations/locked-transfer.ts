import { type FileEntry, type FileMoveOptions, NodekeepError } from '@nodekeep/plugin-sdk'
import type { UserPath } from '../paths/user-path.ts'
import { mountError } from './path-errors.ts'
import { stat } from './reading.ts'
import type { Scope } from './scope.ts'
import { stagingPathFor, type Transfer } from './transfer.ts'
import { checkTransfer, refuseImpossible } from './transfer-checks.ts'

interface Endpoints {
  readonly source: UserPath
  readonly destination: UserPath
  readonly verb: 'moved' | 'copied'
}

/**
 * Runs a move or a copy if it is possible, while the locks of its paths are held.
 *
 * @returns the entry at the destination
 */
export async function lockedTransfer(
  scope: Scope,
  { source, destination, verb }: Endpoints,
  options: FileMoveOptions,
  run: (transfer: Transfer) => Promise<unknown>,
): Promise<FileEntry> {
  refuseImpossible(source, destination, verb)
  const staging = stagingPathFor(destination, verb === 'moved' ? 'moving' : 'copying')
  const release = await scope.lock([source, destination, staging], options.signal)
  try {
    if (scope.mounts.holdsMount(source)) throw verb === 'moved' ? mountError(source) : copiedMount(source)
    const checked = await checkTransfer(scope, source, destination, options)
    await run({ source, destination, staging, ...checked })
    return await stat(scope, destination)
  } finally {
    release()
  }
}

function copiedMount(path: UserPath): NodekeepError {
  const message = `"${path}" is a mount or contains one. Copy the files and folders in it.`
  return new NodekeepError('CONFLICT', message)
}
