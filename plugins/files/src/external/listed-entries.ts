import type { Mutex, StorageListEntry } from '@nodekeep/plugin-sdk'
import { type KnownEntry, listedState } from '../entries/known-entry.ts'
import type { Location } from '../mounts/mounts.ts'

/** Entries that a storage is asked for at a time. */
export const statsAtOnce = 16

/** Entries of a folder or of the index that are handled at a time. */
export const pageSize = 300

/**
 * Lists a folder of a storage.
 *
 * @param turn is held for one page
 * @throws the reason of the signal
 */
export async function* pagesOf(
  { backend, backendPath }: Location,
  turn: Mutex,
  signal: AbortSignal,
): AsyncIterable<readonly StorageListEntry[]> {
  const entries = backend.list(backendPath, { signal })[Symbol.asyncIterator]()
  try {
    for (let isLast = false; !isLast; ) {
      const page = await turn.run(() => take(entries, pageSize))
      signal.throwIfAborted()
      yield page
      isLast = page.length < pageSize
    }
  } finally {
    await entries.return?.()
  }
}

/** Takes at most a number of items. */
async function take<T>(items: AsyncIterator<T>, limit: number): Promise<T[]> {
  const taken: T[] = []
  while (taken.length < limit) {
    const { done, value } = await items.next()
    if (done) break
    taken.push(value)
  }
  return taken
}

/** Whether the index has an entry as a storage or its listing shows it, `null` for nothing. */
export function isSame(before: KnownEntry | undefined, entry: StorageListEntry | null): boolean {
  if (before === undefined || entry === null) return before === undefined && entry === null
  if (before.type !== entry.type) return false
  if (entry.type === 'directory') return true
  if (before.modified === null) return false
  return entry.revision === undefined
    ? before.listed === listedState(entry)
    : before.revision === entry.revision
}
