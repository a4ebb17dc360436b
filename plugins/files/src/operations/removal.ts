import {
  type FileChangeOptions,
  isNodekeepError,
  NodekeepError,
  type StorageRemoveOptions,
} from '@nodekeep/plugin-sdk'
import type { ChangeIntent } from '../journal/change.ts'
import { root, type UserPath } from '../paths/user-path.ts'
import { definedOnly } from './defined-only.ts'
import { forChange, mountError } from './path-errors.ts'
import type { Scope } from './scope.ts'

type RemoveOptions = FileChangeOptions & StorageRemoveOptions

/** Removes a file, or a folder with everything in it. */
export async function remove(scope: Scope, path: UserPath, options: RemoveOptions = {}): Promise<void> {
  if (path === root) throw new NodekeepError('VALIDATION_ERROR', 'The root folder cannot be removed.')
  if (scope.mounts.holdsMount(path)) throw mountError(path)
  const release = await scope.lock([path])
  try {
    await removeLocked(scope, path, options)
  } catch (error) {
    throw options.onlyIfEmpty === true ? notEmpty(path, error) : error
  } finally {
    release()
  }
}

function notEmpty(path: UserPath, error: unknown): unknown {
  if (!isNodekeepError(error) || error.code !== 'CONFLICT') return error
  const message = `"${path}" is not an empty folder. It may hold entries that listings do not show, such as links.`
  return new NodekeepError('CONFLICT', message, { cause: error })
}

/** Removes a file or folder for a caller that holds the lock of the path. */
export async function removeLocked(
  scope: Scope,
  path: UserPath,
  options: RemoveOptions & Pick<ChangeIntent, 'staging'>,
): Promise<void> {
  const { mounts, userUuid, recorder } = scope
  const { backend, backendPath } = scope.locate(path)
  const { by, staging, ifRevision, onlyIfEmpty } = options
  const step = () => backend.remove(backendPath, definedOnly({ ifRevision, onlyIfEmpty }))
  // The journal records only entries that it knows. A symbolic link of another program has no entry, but is removed when
  // it is named.
  if ((await mounts.entryAt(userUuid, path)) === null) await forChange(path, step)
  else
    await forChange(path, () =>
      recorder.record({ userUuid, op: 'delete', path, ...definedOnly({ by, staging }) }, step),
    )
}
