import { type FileChangeOptions, NodekeepError, type StorageRemoveOptions } from '@nodekeep/plugin-sdk'
import { entryAt } from '../changes/happened.ts'
import { root, type UserPath } from '../paths/user-path.ts'
import { definedOnly } from './defined-only.ts'
import { changing, isMount } from './explain.ts'
import type { Scope } from './scope.ts'

export type RemoveOptions = FileChangeOptions & StorageRemoveOptions

/** Removes a file, or a folder with all that is in it. */
export async function remove(scope: Scope, path: UserPath, options: RemoveOptions = {}): Promise<void> {
  if (path === root) throw new NodekeepError('VALIDATION_ERROR', 'The root folder cannot be removed.')
  if (scope.mounts.holdsMount(path)) throw isMount(path)
  const release = await scope.lock([path])
  try {
    await removeLocked(scope, path, options)
  } finally {
    release()
  }
}

/** The same for who holds the lock of the path. */
export async function removeLocked(scope: Scope, path: UserPath, options: RemoveOptions): Promise<void> {
  const { mounts, userUuid, recorder } = scope
  const { backend, backendPath } = scope.place(path)
  const { by, ifRevision, onlyIfEmpty } = options
  const step = () => backend.remove(backendPath, definedOnly({ ifRevision, onlyIfEmpty }))
  // Asked first, so that the journal doesn't count what cannot be removed, nor what it never knew: a symbolic link that
  // another program put there is not shown, but goes when it is named.
  if ((await entryAt(mounts, userUuid, path)) === null) await changing(path, step)
  else
    await changing(path, () =>
      recorder.record({ userUuid, op: 'delete', path, ...definedOnly({ by }) }, step),
    )
}
