import { type FileMoveOptions, NodekeepError, type StorageEntry } from '@nodekeep/plugin-sdk'
import { versionError } from '@nodekeep/plugin-sdk/stored-content'
import { isBelow, isWithin, root, type UserPath } from '../paths/user-path.ts'
import { missingError, mountError } from './path-errors.ts'
import type { Scope } from './scope.ts'

/** Options of a move or a copy that {@link checkTransfer} checks. */
type Conditions = Pick<FileMoveOptions, 'overwrite' | 'ifRevision' | 'ifAbsent'>

/** The entries that a move or a copy concerns. */
export interface Transferred {
  readonly entry: StorageEntry
  /** The entry at the destination; null if there is none. */
  readonly replaced: StorageEntry | null
}

/** @throws NodekeepError VALIDATION_ERROR */
export function refuseImpossible(source: UserPath, destination: UserPath, verb: 'moved' | 'copied'): void {
  if (source === root) throw new NodekeepError('VALIDATION_ERROR', `The root folder cannot be ${verb}.`)
  if (!isWithin(destination, source)) return
  const where = destination === source ? 'to its own path' : 'into itself'
  throw new NodekeepError('VALIDATION_ERROR', `"${source}" cannot be ${verb} ${where}.`)
}

/** Checks the conditions of a move or a copy, for a caller that holds the locks. */
export async function checkTransfer(
  scope: Scope,
  source: UserPath,
  destination: UserPath,
  options: Conditions,
): Promise<Transferred> {
  const entry = await existingEntry(scope, source)
  if (options.ifRevision !== undefined) checkRevision(entry, options.ifRevision)
  return { entry, replaced: await checkDestination(scope, source, destination, options) }
}

/** @throws NodekeepError NOT_FOUND */
export async function existingEntry({ mounts, userUuid }: Scope, path: UserPath): Promise<StorageEntry> {
  const entry = await mounts.entryAt(userUuid, path)
  if (entry === null) throw missingError(path)
  return entry
}

/** @throws NodekeepError PRECONDITION_FAILED */
export function checkRevision({ type, revision }: StorageEntry, expected: string): void {
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
