import { type FileChangeOptions, type FileEntry, NodekeepError } from '@nodekeep/plugin-sdk'
import { entryAt } from '../changes/happened.ts'
import type { ChangeIntent } from '../journal/journal.ts'
import type { UserPath } from '../paths/user-path.ts'
import { definedOnly } from './defined-only.ts'
import { fileEntry, stat } from './entries.ts'
import { changing } from './explain.ts'
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

/** The same for who holds the lock of the path. */
export async function makeDirectoryLocked(
  scope: Scope,
  path: UserPath,
  { by, isStopover }: FileChangeOptions & Pick<ChangeIntent, 'isStopover'>,
): Promise<FileEntry> {
  const { userUuid, mounts, recorder } = scope
  const { backend, backendPath } = scope.place(path)
  const there = await entryAt(mounts, userUuid, path)
  if (there?.type === 'file') throw new NodekeepError('CONFLICT', `"${path}" is a file.`)
  if (there !== null) return fileEntry(scope, path, there)
  const intent = { userUuid, op: 'mkdir' as const, path, ...definedOnly({ by, isStopover }) }
  await changing(path, () => recorder.record(intent, () => backend.makeDirectory(backendPath)))
  return stat(scope, path)
}
