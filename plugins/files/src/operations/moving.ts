import {
  concurrently,
  type FileEntry,
  type FileMoveOptions,
  isNodekeepError,
  NodekeepError,
} from '@nodekeep/plugin-sdk'
import type { Release } from '../paths/path-locks.ts'
import type { UserPath } from '../paths/user-path.ts'
import type { Copied } from './copy-tree.ts'
import { lockedTransfer } from './locked-transfer.ts'
import { makeDirectoryLocked } from './make-directory.ts'
import { ignoreMissing } from './path-errors.ts'
import { removeSource } from './remove-source.ts'
import type { Scope } from './scope.ts'
import { copyIntoPlace, makeRoom, moveInOneStep, movesInOneStep, type Transfer } from './transfer.ts'
import { checkPathLengths, checkPathLengthsOf, treeAt } from './walk.ts'

/** Files of a folder that are moved at a time. */
const movesAtOnce = 16

/** Moves or renames a file or folder. */
export function move(
  scope: Scope,
  source: UserPath,
  destination: UserPath,
  options: FileMoveOptions = {},
): Promise<FileEntry> {
  return lockedTransfer(scope, { source, destination, verb: 'moved' }, options, (transfer) =>
    moveLocked(scope, transfer, options),
  )
}

async function moveLocked(scope: Scope, transfer: Transfer, options: FileMoveOptions): Promise<void> {
  const { source, destination, entry } = transfer
  const isWithinMount = scope.mounts.pointOf(source) === scope.mounts.pointOf(destination)
  if (isWithinMount && movesInOneStep(scope, source, entry)) {
    if (entry.type === 'directory') await checkPathLengths(scope, source, destination, entry, options.signal)
    const replaced = await makeRoom(scope, transfer)
    const known = { source: entry }
    await moveInOneStep(scope, source, destination, entry, { ...options, known, replaced })
  } else if (isWithinMount && scope.locate(source).backend.move !== undefined) {
    await moveFileByFile(scope, transfer, options)
  } else {
    await copyAndRemove(scope, transfer, options)
  }
}

async function copyAndRemove(scope: Scope, transfer: Transfer, options: FileMoveOptions): Promise<void> {
  const { source, destination } = transfer
  const isWithinMount = scope.mounts.pointOf(source) === scope.mounts.pointOf(destination)
  let endCrossing: Release | undefined
  const beforePlacing = async () => {
    endCrossing = await scope.crossMountMoves.begin(options.signal)
  }
  try {
    const copied = await copyIntoPlace(scope, transfer, { ...options, keepCreated: true, beforePlacing })
    const endpoints = { source, destination, verb: 'copied' } as const
    if (isWithinMount) await passVersions(scope, copied.source.files, transfer)
    await removeSource(scope, copied.source, endpoints)
  } finally {
    endCrossing?.()
  }
}

/** Lets the versions of files follow to the copies of the files, on a storage that moves no files. */
async function passVersions(
  scope: Scope,
  files: Copied['source']['files'],
  transfer: Transfer,
): Promise<void> {
  const { journal, userUuid: user } = scope
  const { source, destination } = transfer
  await concurrently(files, movesAtOnce, async ({ path: from }) => {
    const file = (await journal.entriesOf(user)).at(user, from)
    const [version] = file === null ? [] : (await journal.keptOf(user)).versions(user, file.id, 1)
    const to = `${destination}${from.slice(source.length)}`
    if (version !== undefined) await journal.index({ kind: 'pass-versions', user, from, to })
  })
}

/**
 * Moves a folder file by file, on a storage that moves a file in one step, but no folder. Nothing ends it once it has begun:
 * a part of the folder would stay at each path.
 */
async function moveFileByFile(scope: Scope, transfer: Transfer, options: FileMoveOptions): Promise<void> {
  const { source, destination, entry } = transfer
  const { files, folders } = await treeAt(scope, source, entry, options.signal)
  checkPathLengthsOf({ files, folders }, source, destination)
  const movedTo = (path: UserPath) => `${destination}${path.slice(source.length)}` as UserPath
  await makeRoom(scope, transfer)
  await makeDirectoryLocked(scope, destination)
  try {
    for (const path of folders.slice(1)) await makeDirectoryLocked(scope, movedTo(path), { isMissing: true })
    await concurrently(files, movesAtOnce, async ({ path, revision }) => {
      // The journal records the revision.
      const file =
        revision === undefined
          ? await scope.mounts.entryAt(scope.userUuid, path)
          : { type: 'file' as const, revision }
      // Another program removed the file meanwhile.
      if (file === null) return
      const known = { destination: null, ...('name' in file && { source: file }) }
      const details = { known, replaced: null }
      await moveInOneStep(scope, path, movedTo(path), file, details).catch(ignoreMissing)
    })
  } catch (error) {
    throw isNodekeepError(error) ? movedInPart(transfer, error) : error
  }
  await removeSource(scope, { files: [], folders }, { source, destination, verb: 'moved' })
}

function movedInPart({ source, destination }: Transfer, cause: NodekeepError): NodekeepError {
  const message =
    `Only a part of "${source}" may be at "${destination}" now, and the rest is still at "${source}": ${cause.message} ` +
    'Move the rest file by file. Do not repeat the move with "overwrite": it would delete what is at the destination.'
  return new NodekeepError(cause.code, message, { cause, headers: cause.headers })
}
