import { isDate, isUint8Array } from 'node:util/types'
import {
  type FileWriteOptions,
  NodekeepError,
  nameOf,
  type StorageEntry,
  type StorageKnowledge,
  type StorageStaged,
  type StorageWriteOptions,
  type WrittenFile,
} from '@nodekeep/plugin-sdk'
import type { BegunChange } from '../changes/change-recorder.ts'
import type { ChangeIntent, StagingStep } from '../journal/change.ts'
import type { Release } from '../paths/path-locks.ts'
import type { UserPath } from '../paths/user-path.ts'
import { HeldRoom } from '../quota/held-room.ts'
import { checkSha256 } from './check-sha256.ts'
import { definedOnly } from './defined-only.ts'
import { type KeptPlace, keepsDeleted, placeForOverwritten } from './keeping.ts'
import { forChange, mountError } from './path-errors.ts'
import type { Scope } from './scope.ts'
import { checkWrite } from './write-checks.ts'

/** Stores a file. Its path is locked when all bytes have arrived, so a slow upload blocks nobody. */
export async function write(
  scope: Scope,
  path: UserPath,
  content: AsyncIterable<Uint8Array>,
  options: FileWriteOptions = {},
): Promise<WrittenFile> {
  const { maxFileSize } = scope
  if (scope.mounts.holdsMount(path)) throw mountError(path)
  const { modified } = options
  if (modified !== undefined && (!isDate(modified) || Number.isNaN(modified.getTime()))) {
    throw new NodekeepError('VALIDATION_ERROR', 'The time of modification must be a valid date.')
  }
  if (options.sha256 !== undefined) checkSha256(options.sha256)
  if (options.size !== undefined && options.size > maxFileSize) throw fileTooLarge(maxFileSize)
  const point = scope.mounts.pointOf(path)
  const room = roomOf(options) ?? scope.rooms.hold(scope.userUuid, point)
  let ended: AbortController | undefined
  let isOver = false
  let release: Release | null = null
  const lock = async () => {
    if (isOver) throw overError
    release = scope.tryLock([path])
    if (release !== null) return scope.recorder.settle(scope.userUuid, [path])
    ended = new AbortController()
    const signals = [ended.signal, ...(options.signal ? [options.signal] : [])]
    const acquired = await scope.lock([path], AbortSignal.any(signals))
    if (isOver) acquired()
    else release = acquired
  }
  const atEnd = async (bytes: number) => {
    await lock()
    // A storage refuses content of another size than was announced.
    if (options.size === undefined || options.size === bytes)
      await room.secure(bytes, () => checkWrite(scope, path, options))
  }
  let checkedAt = performance.now()
  const beforeChunk = async (size: number) => {
    if (size > room.bytes) await room.extend(size - room.bytes)
    const now = performance.now()
    if (now - checkedAt < diskCheckMs) return
    checkedAt = now
    await scope.rooms.checkDisk(point)
  }
  try {
    // A file that has no room is refused before any of it is read.
    await beforeChunk(options.size ?? 0)
    const bounded = limited(content, maxFileSize, { beforeChunk, atEnd })
    const { file } = await writeLocked(scope, path, bounded, options, { room })
    return file
  } finally {
    if (room === options.room) room.unclaim()
    else room.release()
    // The backend may fail before the content ends. A lock that is granted later must not be kept.
    isOver = true
    ended?.abort(overError)
    ;(release as Release | null)?.()
  }
}

/**
 * The room that a caller gives.
 *
 * @throws TypeError for another object than `holdRoom` gives, which a plugin in JavaScript may pass
 */
function roomOf({ room }: FileWriteOptions): HeldRoom | undefined {
  if (room === undefined || room instanceof HeldRoom) return room
  throw new TypeError('room must be that of holdRoom')
}

/** Nobody sees this error. */
const overError = new Error('The write is over.')

/** Milliseconds between two looks at the disk during an upload: others write to it at the same time. */
const diskCheckMs = 100

/** Details of the copy of a file. */
interface CopyDetails {
  /** Where the file gets its room. */
  readonly room: HeldRoom
  /** When the file was created. */
  readonly created: Date
  readonly staging: StagingStep | undefined
  /** The SHA-256 of the content, hexadecimal, if it is known. */
  readonly sha256: string
  /** The entry at the path, if the caller knows it. */
  readonly known: Pick<StorageKnowledge, 'destination'>
}

type RoomAnd<Details extends Pick<CopyDetails, 'room'>> = Pick<Details, 'room'> & Partial<Details>

/** A file that is stored now. */
interface Stored {
  readonly file: WrittenFile
  /** The place of the content that it has replaced; undefined if there was none, or it is not kept. */
  readonly former: KeptPlace | undefined
}

/** Stores a file for a caller that holds the lock of the path at the latest when the content ends. */
export function writeLocked(
  scope: Scope,
  path: UserPath,
  content: AsyncIterable<Uint8Array>,
  { size, modified, sha256, freeChunks, ifRevision, ifAbsent, signal }: FileWriteOptions,
  { known, ...copy }: RoomAnd<CopyDetails>,
): Promise<Stored> {
  const { backend, backendPath } = scope.locate(path)
  const options = definedOnly({ size, modified, freeChunks, ifRevision, ifAbsent, known, signal })
  return storeLocked(scope, path, { ...copy, ...definedOnly({ sha256 }) }, (step) =>
    backend.write(backendPath, content, { ...options, ...step }),
  )
}

/** Options of the last step of a call that stores a file. */
type LastStep = Pick<StorageWriteOptions, 'beforeCommit' | 'keepReplacedAt'>

/** Runs a call of a backend that stores a file, and records it, for a caller that holds the lock of the path. */
export async function storeLocked(
  scope: Scope,
  path: UserPath,
  { room, staging, sha256, ...copy }: RoomAnd<Omit<CopyDetails, 'known'>>,
  store: (step: LastStep) => Promise<StorageEntry>,
): Promise<Stored> {
  const { userUuid, origin, recorder } = scope
  let change: BegunChange | undefined
  let { created } = copy
  const place = placeForOverwritten(scope, path)
  let former: KeptPlace | undefined
  let isUndoable = keepsDeleted(scope.keeping, scope.locate(path).backend)
  const beforeCommit = async ({ revision, size, replaced }: StorageStaged) => {
    created ??= await createdOfReplaced(scope, path, replaced)
    const intent: ChangeIntent = { userUuid, op: 'write', path, size, revision, ...origin }
    await room.claim(size)
    former = replaced?.type === 'file' ? place : undefined
    if (replaced?.type === 'file') isUndoable = place !== undefined
    const details = definedOnly({ created, staging, keptAs: former?.name })
    const begin = () => recorder.begin({ ...intent, ...details })
    // A staged copy is counted by the journal when it is placed.
    change = await (staging === undefined ? room.record(size, begin) : begin())
  }
  const step = { beforeCommit, ...definedOnly({ keepReplacedAt: place?.backendPath }) }
  const entry = await forChange(path, () => store(step)).catch(async (error) => {
    await change?.resolveByStorage(error)
    throw error
  })
  change?.commit({ modified: entry.modified.getTime(), ...definedOnly({ sha256 }) })
  const file = { ...entry, name: nameOf(path), path, created: created ?? entry.created, isUndoable }
  return { file, former }
}

async function createdOfReplaced(
  { userUuid, journal }: Scope,
  path: UserPath,
  replaced: StorageStaged['replaced'],
): Promise<Date | undefined> {
  if (replaced?.type !== 'file') return undefined
  return (await journal.createdOf(userUuid, path, replaced)) ?? replaced.created
}

interface LimitedSteps {
  readonly beforeChunk?: (size: number) => Promise<void>
  readonly atEnd?: (size: number) => Promise<void>
}

/**
 * Passes content on up to a limit.
 *
 * @param limit bytes of `storage.maxFileSize`
 * @param steps `beforeChunk` is awaited with the bytes that have arrived, before they are passed on, and `atEnd` with all bytes, before the
 *   iteration ends
 * @throws NodekeepError PAYLOAD_TOO_LARGE with the first byte beyond the limit; TypeError for anything but bytes, which a
 * plugin in JavaScript may pass
 */
export async function* limited(
  content: AsyncIterable<Uint8Array>,
  limit: number,
  { beforeChunk, atEnd }: LimitedSteps = {},
): AsyncGenerator<Uint8Array, void, undefined> {
  if (typeof content?.[Symbol.asyncIterator] !== 'function') throw contentError()
  let size = 0
  for await (const chunk of content) {
    if (!isUint8Array(chunk)) throw contentError()
    size += chunk.byteLength
    if (size > limit) throw fileTooLarge(limit)
    await beforeChunk?.(size)
    yield chunk
  }
  await atEnd?.(size)
}

function contentError(): TypeError {
  return new TypeError('content must be an async iterable of Uint8Array')
}

/** @param limit bytes of `storage.maxFileSize` */
export function fileTooLarge(limit: number): NodekeepError {
  return new NodekeepError(
    'PAYLOAD_TOO_LARGE',
    `The file is too large: the limit is ${limit} bytes (storage.maxFileSize)`,
  )
}
