import type { FileEntry, FileMoveOptions } from '@nodekeep/plugin-sdk'
import type { UserPath } from '../paths/user-path.ts'
import { lockedTransfer } from './locked-transfer.ts'
import type { Scope } from './scope.ts'
import { copyIntoPlace } from './transfer.ts'

/** Copies a file or folder. If the storage moves it in one step, the copy appears at the destination in one step. */
export function copy(
  scope: Scope,
  source: UserPath,
  destination: UserPath,
  options: FileMoveOptions = {},
): Promise<FileEntry> {
  return lockedTransfer(scope, { source, destination, verb: 'copied' }, options, (transfer) =>
    copyIntoPlace(scope, transfer, { ...options, keepCreated: false }),
  )
}
