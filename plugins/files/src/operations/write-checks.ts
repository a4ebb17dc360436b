import { type FileWriteOptions, NodekeepError } from '@nodekeep/plugin-sdk'
import { versionError } from '@nodekeep/plugin-sdk/stored-content'
import { foldersAbove, type UserPath } from '../paths/user-path.ts'
import type { Scope } from './scope.ts'

/**
 * Checks what the storage checks in the last step of a write, for a caller that holds the lock of the path and is about to delete something
 * for the write.
 *
 * @throws NodekeepError PRECONDITION_FAILED, or CONFLICT if a folder is at the path, or a file above it; the reason of the signal
 */
export async function checkWrite(
  { mounts, userUuid }: Pick<Scope, 'mounts' | 'userUuid'>,
  path: UserPath,
  { ifRevision, ifAbsent, signal }: Pick<FileWriteOptions, 'ifRevision' | 'ifAbsent' | 'signal'>,
): Promise<void> {
  const there = await mounts.entryAt(userUuid, path)
  signal?.throwIfAborted()
  const isFolder = there?.type === 'directory'
  if (ifRevision !== undefined && (isFolder || there?.revision !== ifRevision)) throw versionError()
  if (ifAbsent === true && there !== null)
    throw new NodekeepError('PRECONDITION_FAILED', `There is something at "${path}" already.`)
  if (isFolder) throw new NodekeepError('CONFLICT', `"${path}" is a folder.`)
  if (there !== null) return
  for (const folder of foldersAbove(path)) {
    const above = await mounts.entryAt(userUuid, folder)
    if (above?.type === 'file') throw new NodekeepError('CONFLICT', `"${folder}" is a file.`)
    if (above !== null) return
  }
}
