import {
  concurrently,
  type FileRemoveOptions,
  isNodekeepError,
  NodekeepError,
  type StorageEntry,
  type StorageRemoveOptions,
} from '@nodekeep/plugin-sdk'
import type { ChangeIntent } from '../journal/change.ts'
import { root, type UserPath } from '../paths/user-path.ts'
import { definedOnly } from './defined-only.ts'
import { keepsDeleted } from './keeping.ts'
import { forChange, ignoreMissing, mountError } from './path-errors.ts'
import type { Scope } from './scope.ts'
import { checkRevision } from './transfer-checks.ts'
import { moveToTrash } from './trashing.ts'
import { deepestFirst, treeAt } from './walk.ts'

/** Entries that are removed at a time. */
export const removalsAtOnce = 16

/** Removes a file, or a folder with everything in it. It goes to the trash if there is one for the path. */
export async function remove(
  scope: Scope,
  path: UserPath,
  { permanent = false, ...options }: FileRemoveOptions = {},
): Promise<void> {
  if (path === root) throw new NodekeepError('VALIDATION_ERROR', 'The root folder cannot be removed.')
  if (scope.mounts.holdsMount(path)) throw mountError(path)
  const release = await scope.lock([path])
  try {
    await removeLocked(scope, path, { ...options, isKept: !permanent && options.onlyIfEmpty !== true })
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

interface RemovalOptions extends StorageRemoveOptions, Pick<ChangeIntent, 'staging'> {
  /** Whether the entry goes to the trash, if there is one for the path. By default it is removed for good. */
  readonly isKept?: boolean
}

/** Removes a file or folder for a caller that holds the lock of the path. */
export async function removeLocked(
  scope: Scope,
  path: UserPath,
  { isKept = false, ...options }: RemovalOptions = {},
): Promise<void> {
  const entry = await scope.mounts.entryAt(scope.userUuid, path)
  const { backend } = scope.locate(path)
  if (entry !== null && isKept && keepsDeleted(scope.keeping, backend)) {
    if (options.ifRevision !== undefined) checkRevision(entry, options.ifRevision)
    return moveToTrash(scope, path, entry)
  }
  const { atomicFolders } = backend.supports
  const isConditional = options.onlyIfEmpty === true || options.ifRevision !== undefined
  if (entry?.type === 'directory' && !atomicFolders && !isConditional) {
    await removeContent(scope, path, entry)
  }
  // The journal records only entries that it knows. A symbolic link of another program has no entry, but is removed when
  // it is named.
  if (entry === null) await forChange(path, () => removeNow(scope, path, options))
  else await record(scope, path, { ...options, known: { source: entry } })
}

/** Removes everything in a folder one by one, so that the journal knows of each entry whether it is gone. */
async function removeContent(scope: Scope, folder: UserPath, entry: StorageEntry): Promise<void> {
  const { files, folders } = await treeAt(scope, folder, entry)
  const inner = folders.filter((path) => path !== folder)
  for (const paths of [files.map(({ path }) => path), ...deepestFirst(inner)]) {
    // Another program may remove one meanwhile.
    await concurrently(paths, removalsAtOnce, (path) => record(scope, path, {}).catch(ignoreMissing))
  }
}

/** Removes an entry in one step of its backend, and records it. */
async function record(
  scope: Scope,
  path: UserPath,
  options: StorageRemoveOptions & Pick<ChangeIntent, 'staging'>,
): Promise<void> {
  const { userUuid, origin } = scope
  const { staging, onlyIfEmpty } = options
  const size = onlyIfEmpty === true ? 0 : undefined
  const intent = { userUuid, op: 'delete' as const, path, ...origin, ...definedOnly({ staging, size }) }
  await forChange(path, () => scope.recorder.record(intent, () => removeNow(scope, path, options)))
}

function removeNow(
  scope: Scope,
  path: UserPath,
  { ifRevision, onlyIfEmpty, known }: StorageRemoveOptions,
): Promise<void> {
  const { backend, backendPath } = scope.locate(path)
  return backend.remove(backendPath, definedOnly({ ifRevision, onlyIfEmpty, known }))
}
