import type { FileEntry, FileWriteOptions, StorageStaged } from '@nodekeep/plugin-sdk'
import type { BegunChange } from '../changes/change-recorder.ts'
import { entryAt } from '../changes/happened.ts'
import type { ChangeIntent } from '../journal/journal.ts'
import type { Release } from '../locks/path-locks.ts'
import { nameOf, type UserPath } from '../paths/user-path.ts'
import { definedOnly } from './defined-only.ts'
import { changing, isMount } from './explain.ts'
import { fileTooLarge, limited } from './incoming.ts'
import type { Scope } from './scope.ts'

/**
 * Stores a file. Its path is locked when all bytes have come, not while they come: whoever sends slowly keeps
 * nobody from the path.
 */
export async function write(
  scope: Scope,
  path: UserPath,
  content: AsyncIterable<Uint8Array>,
  options: FileWriteOptions = {},
): Promise<FileEntry> {
  const { maxFileSize } = scope
  if (scope.mounts.holdsMount(path)) throw isMount(path)
  if (options.size !== undefined && options.size > maxFileSize) throw fileTooLarge(maxFileSize)
  let ended: AbortController | undefined
  let isOver = false
  let release: Release | null = null
  const lock = async () => {
    if (isOver) throw over
    release = scope.tryLock([path])
    if (release !== null) return
    // Made for those who have to wait only: it takes longer than the checks of a path.
    ended = new AbortController()
    const signals = [ended.signal, ...(options.signal ? [options.signal] : [])]
    const mine = await scope.lock([path], AbortSignal.any(signals))
    if (isOver) mine()
    else release = mine
  }
  try {
    return await writeLocked(scope, path, limited(content, maxFileSize, lock), options)
  } finally {
    // Nobody takes what the lock gives once the backend has stopped waiting for the end of the content.
    isOver = true
    ended?.abort(over)
    ;(release as Release | null)?.()
  }
}

/** One for all, since nobody sees it. */
const over = new Error('The write is over.')

/** A copy of a file from elsewhere. */
interface CopyDetails {
  /** When the file was created. */
  readonly born: Date
  /** See {@link ChangeIntent.isStopover}. */
  readonly isStopover: boolean
}

/** The same for who holds the lock of the path, at the latest when the content ends. */
export async function writeLocked(
  scope: Scope,
  path: UserPath,
  content: AsyncIterable<Uint8Array>,
  { by, size, freeChunks, ifRevision, ifAbsent, signal }: FileWriteOptions,
  { born, isStopover }: Partial<CopyDetails> = {},
): Promise<FileEntry> {
  const { userUuid, recorder } = scope
  const { backend, backendPath } = scope.place(path)
  let change: BegunChange | undefined
  let created = born
  const beforeCommit = async ({ revision, size, replaced }: StorageStaged) => {
    created ??= await createdOfReplaced(scope, path, replaced)
    const intent = { userUuid, op: 'write' as const, path, size, revision }
    change = await recorder.begin({ ...intent, ...definedOnly({ by, created, isStopover }) })
  }
  const options = { ...definedOnly({ size, freeChunks, ifRevision, ifAbsent, signal }), beforeCommit }
  const entry = await changing(path, () => backend.write(backendPath, content, options)).catch(
    async (error) => {
      await change?.settle()
      throw error
    },
  )
  change?.commit()
  return { ...entry, name: nameOf(path), path, created: created ?? entry.created }
}

async function createdOfReplaced(
  { mounts, userUuid, journal }: Scope,
  path: UserPath,
  replaced: StorageStaged['replaced'],
): Promise<Date | undefined> {
  const entry = replaced === undefined ? await entryAt(mounts, userUuid, path) : replaced
  if (entry?.type !== 'file') return undefined
  return (await journal.createdOf(userUuid, path, entry.revision)) ?? entry.created
}
