import {
  type FileEntry,
  type FileMoveOptions,
  isNodekeepError,
  NodekeepError,
  type StorageEntry,
} from '@nodekeep/plugin-sdk'
import type { ChangeIntent } from '../journal/change.ts'
import type { Release } from '../paths/path-locks.ts'
import { isBelow, isWithin, parentOf, root, type UserPath } from '../paths/user-path.ts'
import { type Copied, copyTo, removeCopied, stagingPathFor } from './copy-across-mounts.ts'
import { definedOnly } from './defined-only.ts'
import { makeDirectoryLocked } from './make-directory.ts'
import { forChange, missingError, mountError, versionError } from './path-errors.ts'
import { stat } from './reading.ts'
import { removeLocked } from './removal.ts'
import type { Scope } from './scope.ts'
import { checkPathLengths } from './walk.ts'

/** Options of a move or a copy that {@link checkTransfer} checks. */
type Conditions = Pick<FileMoveOptions, 'overwrite' | 'ifRevision' | 'ifAbsent'>

/** Moves or renames a file or folder. */
export async function move(
  scope: Scope,
  source: UserPath,
  destination: UserPath,
  options: FileMoveOptions = {},
): Promise<FileEntry> {
  refuseImpossible(source, destination, 'moved')
  const isAcross = scope.mounts.pointOf(source) !== scope.mounts.pointOf(destination)
  const staging = isAcross ? stagingPathFor(destination, 'moving') : null
  const paths = staging === null ? [source, destination] : [source, destination, staging]
  const release = await scope.lock(paths, options.signal)
  let endCrossing: Release | undefined
  try {
    if (scope.mounts.holdsMount(source)) throw mountError(source)
    const { entry, replaced } = await checkTransfer(scope, source, destination, options)
    if (staging === null) {
      if (entry.type === 'directory') await checkPathLengths(scope, source, destination, options.signal)
      await moveWithinMount(scope, source, destination, entry, options)
    } else {
      const places = { source, staging, destination, replaced }
      const beforePlacing = async () => {
        endCrossing = await scope.crossings.begin()
      }
      const copied = await copyIntoPlace(scope, places, { ...options, keepCreated: true, beforePlacing })
      await removeCopied(scope, copied, { source, destination }, definedOnly({ by: options.by }))
    }
    return await stat(scope, destination)
  } finally {
    endCrossing?.()
    release()
  }
}

/** @throws NodekeepError VALIDATION_ERROR */
export function refuseImpossible(source: UserPath, destination: UserPath, verb: 'moved' | 'copied'): void {
  if (source === root) throw new NodekeepError('VALIDATION_ERROR', `The root folder cannot be ${verb}.`)
  if (!isWithin(destination, source)) return
  const where = destination === source ? 'to its own path' : 'into itself'
  throw new NodekeepError('VALIDATION_ERROR', `"${source}" cannot be ${verb} ${where}.`)
}

/**
 * Checks the conditions of a move or a copy, for a caller that holds the locks.
 *
 * @returns the entry of the source, and the entry that will be replaced, null if there is none
 */
export async function checkTransfer(
  scope: Scope,
  source: UserPath,
  destination: UserPath,
  options: Conditions,
): Promise<{ readonly entry: StorageEntry; readonly replaced: StorageEntry | null }> {
  const entry = await existingEntry(scope, source)
  if (options.ifRevision !== undefined) checkRevision(entry, options.ifRevision)
  return { entry, replaced: await checkDestination(scope, source, destination, options) }
}

async function existingEntry({ mounts, userUuid }: Scope, source: UserPath): Promise<StorageEntry> {
  const entry = await mounts.entryAt(userUuid, source)
  if (entry === null) throw missingError(source)
  return entry
}

/** @throws NodekeepError PRECONDITION_FAILED */
function checkRevision({ type, revision }: StorageEntry, expected: string): void {
  if (type === 'directory' || revision !== expected) throw versionError()
}

async function checkDestination(
  { mounts, userUuid }: Scope,
  source: UserPath,
  destination: UserPath,
  { overwrite, ifAbsent }: Conditions,
): Promise<StorageEntry | null> {
  if (mounts.holdsMount(destination)) throw mountError(destination)
  const replaced = await mounts.entryAt(userUuid, destination)
  if (replaced === null) return null
  if (ifAbsent === true) {
    throw new NodekeepError('PRECONDITION_FAILED', `There is something at "${destination}" already.`)
  }
  if (isBelow(source, destination)) {
    throw new NodekeepError('CONFLICT', `"${destination}" cannot be replaced by something in it.`)
  }
  if (overwrite === true) return replaced
  throw new NodekeepError(
    'CONFLICT',
    `There is something at "${destination}" already. Set "overwrite" to replace it.`,
  )
}

interface StagedCopy {
  readonly source: UserPath
  readonly staging: UserPath
  readonly destination: UserPath
  /** The entry at the destination, if there is one. */
  readonly replaced: StorageEntry | null
}

/** Copies to the staging path, then renames in one step. When that fails, the copy is removed. */
export async function copyIntoPlace(
  scope: Scope,
  { source, staging, destination, replaced }: StagedCopy,
  options: FileMoveOptions & {
    readonly keepCreated: boolean
    readonly beforePlacing?: () => Promise<void>
  },
): Promise<Copied> {
  await makeParent(scope, destination, options)
  try {
    const copied = await copyTo(scope, source, staging, destination, options)
    const { ifRevision } = options
    // Another program may have changed the file after the check.
    if (ifRevision !== undefined && copied.files[0]?.revision !== ifRevision) throw versionError()
    const entry = await existingEntry(scope, staging)
    const replaces = replaced !== null && (replaced.type === 'directory' || entry.type === 'directory')
    const step = replaces ? 'replace' : 'place'
    await options.beforePlacing?.()
    await moveWithinMount(scope, staging, destination, entry, { ...options, staging: step })
    return copied
  } catch (error) {
    await removeLocked(scope, staging, { staging: 'abandon', ...definedOnly({ by: options.by }) }).catch(
      () => {},
    )
    throw withoutStagingPath(error, staging, destination)
  }
}

/** The folder stays when the copy fails, so it is a change of its own. */
async function makeParent(
  scope: Scope,
  destination: UserPath,
  { by }: Pick<FileMoveOptions, 'by'>,
): Promise<void> {
  const parent = parentOf(destination)
  if (scope.mounts.holdsMount(parent)) return
  await forChange(destination, () => makeDirectoryLocked(scope, parent, definedOnly({ by })))
}

/** Users do not know the staging path, so errors name the destination instead. */
function withoutStagingPath(error: unknown, staging: UserPath, destination: UserPath): unknown {
  if (!isNodekeepError(error) || !error.message.includes(staging)) return error
  const { code, headers, logged } = error
  const message = error.message.replaceAll(staging, () => destination)
  return new NodekeepError(code, message, { cause: error, headers, logged })
}

async function moveWithinMount(
  scope: Scope,
  source: UserPath,
  destination: UserPath,
  { type, revision }: StorageEntry,
  { by, overwrite = false, staging }: FileMoveOptions & Pick<ChangeIntent, 'staging'>,
): Promise<void> {
  const from = scope.locate(source)
  const to = scope.locate(destination)
  const { atomicMove } = from.backend.supports
  const intent: ChangeIntent = {
    userUuid: scope.userUuid,
    op: 'move',
    path: destination,
    source,
    changesRevisions: !atomicMove,
    ...definedOnly({ by, staging, revision: type === 'file' && atomicMove ? revision : undefined }),
  }
  await forChange(destination, () =>
    scope.recorder.record(intent, () => from.backend.move(from.backendPath, to.backendPath, { overwrite })),
  )
}
