import { type FileEntry, NodekeepError, type StorageEntry } from '@nodekeep/plugin-sdk'
import type { ChangeIntent } from '../journal/change.ts'
import type { UserPath } from '../paths/user-path.ts'
import { definedOnly } from './defined-only.ts'
import { forChange } from './path-errors.ts'
import { fileEntry, stat } from './reading.ts'
import type { Scope } from './scope.ts'

/** Makes a folder and its parents. */
export async function makeDirectory(scope: Scope, path: UserPath): Promise<FileEntry> {
  if (scope.mounts.holdsMount(path)) return stat(scope, path)
  const release = await scope.lock([path])
  try {
    const existing = await makeDirectoryLocked(scope, path)
    return existing === null ? await stat(scope, path) : await fileEntry(scope, path, existing)
  } finally {
    release()
  }
}

interface LockedOptions extends Pick<ChangeIntent, 'staging'> {
  /** Whether the caller knows that nothing is at the path, and that its parent is a folder. The storage is not asked then. */
  readonly isMissing?: boolean
}

/**
 * Makes a folder and its parents for a caller that holds the lock of the path.
 *
 * @returns the folder if it was there before, otherwise null
 */
export async function makeDirectoryLocked(
  scope: Scope,
  path: UserPath,
  { staging, isMissing = false }: LockedOptions = {},
): Promise<StorageEntry | null> {
  const { userUuid, origin, mounts, recorder } = scope
  const { backend, backendPath } = scope.locate(path)
  const existing = isMissing ? null : await mounts.entryAt(userUuid, path)
  if (existing?.type === 'file') throw new NodekeepError('CONFLICT', `"${path}" is a file.`)
  if (existing !== null) return existing
  const intent = { userUuid, op: 'mkdir' as const, path, ...origin, ...definedOnly({ staging }) }
  const options = isMissing ? { known: { destination: null } } : {}
  await forChange(path, () => recorder.record(intent, () => backend.makeDirectory(backendPath, options)))
  return null
}
