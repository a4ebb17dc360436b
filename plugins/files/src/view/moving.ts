import {
  type FileEntry,
  type FileMoveOptions,
  isNodekeepError,
  NodekeepError,
  type StorageEntry,
} from '@nodekeep/plugin-sdk'
import { entryAt } from '../changes/happened.ts'
import { isBelow, isWithin, root, type UserPath } from '../paths/user-path.ts'
import { clearCopied } from './clearing.ts'
import { type Copied, copyTo, stopoverFor } from './crossing.ts'
import { definedOnly } from './defined-only.ts'
import { stat } from './entries.ts'
import { changing, isMount, nothingAt } from './explain.ts'
import { longestAfterMove } from './path-lengths.ts'
import { removeLocked } from './removal.ts'
import type { Scope } from './scope.ts'

/** Moves or renames a file or folder. */
export async function move(
  scope: Scope,
  source: UserPath,
  destination: UserPath,
  options: FileMoveOptions = {},
): Promise<FileEntry> {
  refuseImpossible(source, destination)
  const crosses = scope.mountOf(source) !== scope.mountOf(destination)
  const stopover = crosses ? stopoverFor(destination) : null
  const paths = stopover === null ? [source, destination] : [source, destination, stopover]
  const release = await scope.lock(paths, options.signal)
  try {
    const entry = await movable(scope, source)
    await checkDestination(scope, source, destination, options)
    if (stopover === null) {
      await moveWithin(scope, source, destination, entry, options)
    } else {
      const copied = await bringOver(scope, { source, stopover, destination }, options)
      await clearCopied(scope, copied, { source, destination }, definedOnly({ by: options.by }))
    }
    return await stat(scope, destination)
  } finally {
    release()
  }
}

function refuseImpossible(source: UserPath, destination: UserPath): void {
  if (source === root) throw new NodekeepError('VALIDATION_ERROR', 'The root folder cannot be moved.')
  if (!isWithin(destination, source)) return
  const where = destination === source ? 'to where it is already' : 'into itself'
  throw new NodekeepError('VALIDATION_ERROR', `"${source}" cannot be moved ${where}.`)
}

async function movable({ mounts, userUuid }: Scope, source: UserPath): Promise<StorageEntry> {
  if (mounts.holdsMount(source)) throw isMount(source)
  const entry = await entryAt(mounts, userUuid, source)
  if (entry === null) throw nothingAt(source)
  return entry
}

async function checkDestination(
  { mounts, userUuid }: Scope,
  source: UserPath,
  destination: UserPath,
  { overwrite }: FileMoveOptions,
): Promise<void> {
  if (mounts.holdsMount(destination)) throw isMount(destination)
  if ((await entryAt(mounts, userUuid, destination)) === null) return
  if (isBelow(source, destination)) {
    throw new NodekeepError('CONFLICT', `"${destination}" cannot be replaced by something that is in it.`)
  }
  if (overwrite === true) return
  throw new NodekeepError(
    'CONFLICT',
    `There is something at "${destination}" already. Say "overwrite" to replace it.`,
  )
}

/** Puts a copy in place in one step. When that fails, nothing stays of the copy. */
async function bringOver(
  scope: Scope,
  { source, stopover, destination }: { source: UserPath; stopover: UserPath; destination: UserPath },
  options: FileMoveOptions,
): Promise<Copied> {
  try {
    const copied = await copyTo(scope, source, stopover, destination, options)
    await moveWithin(scope, stopover, destination, await movable(scope, stopover), options)
    return copied
  } catch (error) {
    await removeLocked(scope, stopover, definedOnly({ by: options.by })).catch(() => {})
    throw inTermsOf(destination, stopover, error)
  }
}

/** Nobody but this move knows of the stopover: errors speak of where the copy would have been in the end. */
function inTermsOf(destination: UserPath, stopover: UserPath, error: unknown): unknown {
  if (!isNodekeepError(error) || !error.message.includes(stopover)) return error
  const { code, headers, logged } = error
  const message = error.message.replaceAll(stopover, () => destination)
  return new NodekeepError(code, message, { cause: error, headers, logged })
}

async function moveWithin(
  scope: Scope,
  source: UserPath,
  destination: UserPath,
  { type, revision }: StorageEntry,
  { by, overwrite = false }: FileMoveOptions,
): Promise<void> {
  const from = scope.place(source)
  const to = scope.place(destination)
  const keepsRevision = type === 'file' && from.backend.supports.atomicMove
  const longest = type === 'directory' ? await longestAfterMove(scope, source, destination) : undefined
  const intent = {
    userUuid: scope.userUuid,
    op: 'move' as const,
    path: destination,
    source,
    ...definedOnly({ by, longest, revision: keepsRevision ? revision : undefined }),
  }
  await changing(destination, () =>
    scope.recorder.record(intent, () => from.backend.move(from.backendPath, to.backendPath, { overwrite })),
  )
}
