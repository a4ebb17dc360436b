import { type FileChangeOptions, type FileEntry, NodekeepError } from '@nodekeep/plugin-sdk'
import type { ChangeIntent } from '../journal/change.ts'
import type { UserPath } from '../paths/user-path.ts'
import { definedOnly } from './defined-only.ts'
import { forChange } from './path-errors.ts'
import { fileEntry, stat } from './reading.ts'
import type { Scope } from './scope.ts'

/** Makes a folder and its parents. */
export async function makeDirectory(
  scope: Scope,
  path: UserPath,
  options: FileChangeOptions = {},
): Promise<FileEntry> {
  if (scope.mounts.holdsMount(path)) return stat(scope, path)
  const release = await scope.lock([path])
  try {
    return await makeDirectoryLocked(scope, path, options)
  } finally {
    release()
  }
}

/** Makes a folder and its parents for a caller that holds the lock of the path. */
export async function makeDirectoryLocked(
  scope: Scope,
  path: UserPath,
  { by, staging }: FileChangeOptions & Pick<ChangeIntent, 'staging'>,
): Promise<FileEntry> {
  const { userUuid, mounts, recorder } = scope
  const { backend, backendPath } = scope.locate(path)
  const existing = await mounts.entryAt(userUuid, path)
  if (existing?.type === 'file') throw new NodekeepError('CONFLICT', `"${path}" is a file.`)
  if (existing !== null) return fileEntry(scope, path, existing)
  const intent = { userUuid, op: 'mkdir' as const, path, ...definedOnly({ by, staging }) }
  await forChange(path, () => recorder.record(intent, () => backend.makeDirectory(backendPath)))
  return stat(scope, path)
}
