import { randomBytes } from 'node:crypto'
import {
  type FileMoveOptions,
  isNodekeepError,
  NodekeepError,
  type StorageEntry,
  type StorageMoveOptions,
} from '@nodekeep/plugin-sdk'
import type { ChangeIntent } from '../journal/change.ts'
import { childOf, parentOf, type UserPath } from '../paths/user-path.ts'
import type { HeldRoom } from '../quota/held-room.ts'
import { type Copied, copyTree, entriesToCopy, nothingCopied } from './copy-tree.ts'
import { definedOnly } from './defined-only.ts'
import { keepsDeleted, placeForReplaced } from './keeping.ts'
import { makeDirectoryLocked } from './make-directory.ts'
import { forChange } from './path-errors.ts'
import { removeLocked } from './removal.ts'
import type { Scope } from './scope.ts'
import { takeBackCopy } from './take-back-copy.ts'
import { existingEntry, type Transferred } from './transfer-checks.ts'
import type { ListedTree } from './walk.ts'

/** The paths of a move or a copy. */
export interface Transfer extends Transferred {
  readonly source: UserPath
  readonly destination: UserPath
  readonly staging: UserPath
}

/** The parts of one copy. */
type CopyParts<Options> = Options & {
  readonly room: HeldRoom
  /** All entries of the source. */
  readonly tree: ListedTree
}

type CopyIntoPlaceOptions = FileMoveOptions & {
  readonly keepCreated: boolean
  /** Runs when everything is copied, right before a staged copy gets its name, and before a single file replaces another one. */
  readonly beforePlacing?: () => Promise<void>
}

/**
 * A path beside the destination, on the same mount, at which a copy is staged before one step gives it its name. The next
 * start removes what a crash leaves there.
 */
export function stagingPathFor(destination: UserPath, activity: 'moving' | 'copying'): UserPath {
  return childOf(parentOf(destination), `.${activity}-${randomBytes(8).toString('hex')}`)
}

/** Whether the storage of a path moves such an entry in one step. */
export function movesInOneStep(scope: Scope, path: UserPath, { type }: StorageEntry): boolean {
  const { move, supports } = scope.locate(path).backend
  return move !== undefined && (type === 'file' || supports.atomicFolders === true)
}

interface MoveOptions
  extends FileMoveOptions,
    Pick<ChangeIntent, 'staging'>,
    Pick<StorageMoveOptions, 'known'> {
  /** The entry at the destination; null if there is none. */
  readonly replaced: StorageEntry | null
}

/** Moves within a mount, in one step of its storage. See {@link movesInOneStep}. */
export async function moveInOneStep(
  scope: Scope,
  source: UserPath,
  destination: UserPath,
  moved: Pick<StorageEntry, 'type' | 'revision'>,
  { overwrite = false, staging, known, replaced }: MoveOptions,
): Promise<void> {
  const { backend, backendPath } = scope.locate(source)
  const to = scope.locate(destination)
  const place = placeForReplaced(scope, destination, moved, replaced)
  const revision = moved.type === 'file' ? moved.revision : undefined
  const intent: ChangeIntent = {
    userUuid: scope.userUuid,
    op: 'move',
    path: destination,
    source,
    ...scope.origin,
    ...definedOnly({ staging, revision, keptAs: place?.name }),
  }
  await forChange(destination, () =>
    scope.recorder.record(intent, () =>
      (backend as Required<typeof backend>).move(
        backendPath,
        to.backendPath,
        definedOnly({ overwrite, known, keepReplacedAt: place?.backendPath }),
      ),
    ),
  )
}

/**
 * Removes the entry at the destination if the storage cannot replace it in the step that brings the other one, or not keep it then. Most
 * storages replace a file by a file.
 *
 * @returns what is at the destination now
 */
export async function makeRoom(
  scope: Scope,
  { entry, replaced, destination }: Omit<Transfer, 'staging'>,
): Promise<StorageEntry | null> {
  if (replaced === null || (entry.type === 'file' && replaced.type === 'file')) return replaced
  const { backend } = scope.locate(destination)
  const { atomicFolders, keepsReplaced } = backend.supports
  if (atomicFolders && (keepsReplaced || !keepsDeleted(scope.keeping, backend))) return replaced
  await removeLocked(scope, destination, { isKept: true })
  return null
}

/** Copies to the destination. When that fails, the copy is removed, and a file that it has replaced is back, or stays as a version. */
export async function copyIntoPlace(
  scope: Scope,
  transfer: Transfer,
  options: CopyIntoPlaceOptions,
): Promise<Copied> {
  const { destination, entry } = transfer
  const room = scope.rooms.hold(scope.userUuid, scope.mounts.pointOf(destination))
  const copyTo = movesInOneStep(scope, destination, entry) ? copyAside : copyInPlace
  try {
    const tree = await entriesToCopy(scope, transfer, { ...options, room })
    await makeParent(scope, destination)
    return await copyTo(scope, transfer, { ...options, room, tree })
  } finally {
    room.releaseAfter(scope.journal.entriesOf(scope.userUuid))
  }
}

/** Copies to the staging path, then renames in one step. */
async function copyAside(
  scope: Scope,
  transfer: Transfer,
  { tree, ...options }: CopyParts<CopyIntoPlaceOptions>,
): Promise<Copied> {
  const { source, staging, destination, entry } = transfer
  const copied = nothingCopied()
  try {
    const paths = { source, entry, tree, copy: staging, replaced: null }
    await copyTree(scope, paths, copied, { ...options, isStaged: true })
    await options.beforePlacing?.()
    await options.room.secure(options.room.bytes)
    const replaced = await makeRoom(scope, transfer)
    const staged = await existingEntry(scope, staging)
    const replaces = replaced !== null && (replaced.type === 'directory' || entry.type === 'directory')
    const step = replaces ? 'replace' : 'place'
    const known = { source: staged }
    await moveInOneStep(scope, staging, destination, staged, { ...options, staging: step, known, replaced })
    return copied
  } catch (error) {
    await removeLocked(scope, staging, { staging: 'abandon' }).catch(() => {})
    throw withoutStagingPath(error, staging, destination)
  }
}

/** Copies entry by entry to the destination, where the storage cannot move the copy there in one step. */
async function copyInPlace(
  scope: Scope,
  transfer: Transfer,
  { tree, ...options }: CopyParts<CopyIntoPlaceOptions>,
): Promise<Copied> {
  const { source, entry, destination } = transfer
  const copied = nothingCopied()
  const replaced = await makeRoom(scope, transfer)
  // Afterwards, a copy that replaces a file is refused only if its bytes turn out to be wrong.
  const beforeStoring = async (bytes: number) => {
    if (replaced !== null) await options.beforePlacing?.()
    await options.room.secure(bytes)
  }
  try {
    const paths = { source, entry, tree, copy: destination, replaced }
    await copyTree(scope, paths, copied, { ...options, isStaged: false, beforeStoring })
    if (replaced === null) await options.beforePlacing?.()
    return copied
  } catch (error) {
    await takeBackCopy(scope, copied.copy).catch(() => {})
    throw error
  }
}

/** The folder stays when the copy fails, so it is a change of its own. */
async function makeParent(scope: Scope, destination: UserPath): Promise<void> {
  const parent = parentOf(destination)
  if (scope.mounts.holdsMount(parent)) return
  await forChange(destination, () => makeDirectoryLocked(scope, parent))
}

/** Users do not know the staging path, so errors name the destination instead. */
function withoutStagingPath(error: unknown, staging: UserPath, destination: UserPath): unknown {
  if (!isNodekeepError(error) || !error.message.includes(staging)) return error
  const { code, headers, logged } = error
  const message = error.message.replaceAll(staging, () => destination)
  return new NodekeepError(code, message, { cause: error, headers, logged })
}
