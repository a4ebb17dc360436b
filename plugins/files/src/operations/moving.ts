import {
  type FileEntry,
  type FileMoveOptions,
  isNodekeepError,
  NodekeepError,
  type StorageEntry,
} from '@nodekeep/plugin-sdk'
import type { ChangeIntent } from '../journal/change.ts'
import { isBelow, isWithin, root, type UserPath } from '../paths/user-path.ts'
import { type Copied, copyTo, removeCopied, stagingPathFor } from './copy-across-mounts.ts'
import { definedOnly } from './defined-only.ts'
import { forChange, missingError, mountError, versionError } from './path-errors.ts'
import { stat } from './reading.ts'
import { removeLocked } from './removal.ts'
import type { Scope } from './scope.ts'
import { checkPathLengths } from './walk.ts'

/** Moves or renames a file or folder. */
export async function move(
  scope: Scope,
  source: UserPath,
  destination: UserPath,
  options: FileMoveOptions = {},
): Promise<FileEntry> {
  refuseImpossible(source, destination)
  const isAcross = scope.mounts.pointOf(source) !== scope.mounts.pointOf(destination)
  const staging = isAcross ? stagingPathFor(destination) : null
  const paths = staging === null ? [source, destination] : [source, destination, staging]
  const release = await scope.lock(paths, options.signal)
  try {
    const entry = await movableEntry(scope, source)
    if (options.ifRevision !== undefined) checkRevision(entry, options.ifRevision)
    const replaced = await checkDestination(scope, source, destination, options)
    if (staging === null) {
      if (entry.type === 'directory') await checkPathLengths(scope, source, destination, options.signal)
      await moveWithinMount(scope, source, destination, entry, options)
    } else {
      const copied = await copyIntoPlace(scope, { source, staging, destination, replaced }, options)
      await removeCopied(scope, copied, { source, destination }, definedOnly({ by: options.by }))
    }
    return await stat(scope, destination)
  } finally {
    release()
  }
}

function refuseImpossible(source: UserPath, destination: UserPath): void {
  if (source === root) throw new NodekeepError('VALIDATION_ERROR', 'The root folder cannot be moved.')
  if (!isWithin(destination, source)) return
  const where = destination === source ? 'to its own path' : 'into itself'
  throw new NodekeepError('VALIDATION_ERROR', `"${source}" cannot be moved ${where}.`)
}

async function movableEntry({ mounts, userUuid }: Scope, source: UserPath): Promise<StorageEntry> {
  if (mounts.holdsMount(source)) throw mountError(source)
  const entry = await mounts.entryAt(userUuid, source)
  if (entry === null) throw missingError(source)
  return entry
}

/** @throws NodekeepError PRECONDITION_FAILED */
function checkRevision({ type, revision }: StorageEntry, expected: string): void {
  if (type === 'directory' || revision !== expected) throw versionError()
}

/** @returns the entry that will be replaced; null if there is none */
async function checkDestination(
  { mounts, userUuid }: Scope,
  source: UserPath,
  destination: UserPath,
  { overwrite, ifAbsent }: FileMoveOptions,
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
async function copyIntoPlace(
  scope: Scope,
  { source, staging, destination, replaced }: StagedCopy,
  options: FileMoveOptions,
): Promise<Copied> {
  try {
    const copied = await copyTo(scope, source, staging, destination, options)
    const entry = await movableEntry(scope, staging)
    const replaces = replaced !== null && (replaced.type === 'directory' || entry.type === 'directory')
    const step = replaces ? 'replace' : 'place'
    await moveWithinMount(scope, staging, destination, entry, { ...options, staging: step })
    return copied
  } catch (error) {
    await removeLocked(scope, staging, { staging: 'abandon', ...definedOnly({ by: options.by }) }).catch(
      () => {},
    )
    throw withoutStagingPath(error, staging, destination)
  }
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
