import { setImmediate as nextTurn } from 'node:timers/promises'
import { isNodekeepError, type Log } from '@nodekeep/plugin-sdk'
import type { Journal } from '../journal/journal.ts'
import { entryIn, isMissing, type Location } from '../mounts/mounts.ts'
import type { Scope, ScopeOf } from '../operations/scope.ts'
import type { UserPath } from '../paths/user-path.ts'
import { forget, lockOf, placeOf } from './kept-entries.ts'

/** Entries of the index that are read at a time. Reading is synchronous. */
const pageSize = 300

interface GoneEntriesServices {
  readonly journal: Journal
  readonly scopeOf: ScopeOf
  /** Asks the storage of a mount whose files it has now, so that the index follows it. */
  readonly identify: (mount: UserPath) => Promise<void>
  readonly log: Pick<Log, 'debug'>
  readonly signal: AbortSignal
}

/**
 * Forgets what the index keeps and the storages do not have any more: a crash came after the deletion of the files, and before that of the
 * entry, which would count as room until somebody deletes it again.
 */
export async function forgetGone({
  journal,
  scopeOf,
  identify,
  log,
  signal,
}: GoneEntriesServices): Promise<void> {
  const reader = await journal.keptOf('')
  const identified = new Set<string>()
  for (const user of reader.users()) {
    const scope = scopeOf(user, {})
    for (const { storage, keptEntries } of reader.sums(user)) {
      signal.throwIfAborted()
      const point = keptEntries === 0 ? null : scope.mounts.pointOfStorage(storage)
      if (point === null) continue
      try {
        const folder = scope.mounts.locateKept(user, point, '')
        // Files that another disk or bucket keeps are not gone.
        if (!identified.has(storage)) await identify(point)
        identified.add(storage)
        const present = (await journal.keptOf(user)).sums(user).find((sums) => sums.storage === storage)
        if (present === undefined || present.keptEntries === 0) continue
        for (const name of await goneNames(scope, folder, present.keptRoot)) await forgetIfGone(scope, name)
      } catch (error) {
        // The next start tries again.
        if (!isNodekeepError(error)) throw error
        log.debug({ err: error, user }, 'A storage cannot be asked now for what it keeps of a user.')
      }
    }
  }
}

/** The names of a folder in the index that its storage does not list. */
async function goneNames(
  { journal, userUuid }: Scope,
  { backend, backendPath }: Location,
  root: number,
): Promise<ReadonlySet<string>> {
  const names = new Set<string>()
  for (let after: string | undefined = ''; after !== undefined; await nextTurn()) {
    const page = (await journal.entriesOf(userUuid)).page(root, after, pageSize)
    for (const { name } of page) names.add(name)
    after = page.at(-1)?.name
  }
  try {
    for await (const { name } of backend.list(backendPath)) names.delete(name)
  } catch (error) {
    if (!isMissing(error)) throw error
  }
  return names
}

async function forgetIfGone(scope: Scope, name: string): Promise<void> {
  const { journal, userUuid } = scope
  const found = (await journal.keptOf(userUuid)).named(userUuid, name)
  const release = found && scope.tryLock([lockOf(found)])
  if (found === null || release === null) return
  try {
    // The outcome of a change that puts it back moves its entry.
    const open = await journal.pendingPaths(userUuid)
    if (open.some(({ restores }) => restores?.split('/', 1)[0] === name)) return
    if ((await entryIn(placeOf(scope, found))) === null) await forget(scope, found)
  } finally {
    release()
  }
}
