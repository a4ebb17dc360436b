import { setImmediate as nextTurn } from 'node:timers/promises'
import { concurrently, type Mutex, type StorageEntry } from '@nodekeep/plugin-sdk'
import { foundEntry, type KnownEntry, type ListedFile, listedState } from '../entries/known-entry.ts'
import type { Journal } from '../journal/journal.ts'
import type { RunningChanges } from '../journal/running-changes.ts'
import { entryIn, isMissing, type Mounts } from '../mounts/mounts.ts'
import type { UserPath } from '../paths/user-path.ts'
import type { IndexTree } from './index-tree.ts'
import { isSame, pageSize, pagesOf, statsAtOnce } from './listed-entries.ts'
import { openChanges } from './open-changes.ts'

/** Entries that are checked at a time. */
const batchSize = 128

interface KeptScanServices {
  readonly journal: Journal
  readonly mounts: Mounts
  readonly running: RunningChanges
  /** Ends the scan. */
  readonly signal: AbortSignal
}

interface KeptFiles {
  readonly userUuid: string
  readonly mount: UserPath
}

/** Names from the folder of the kept files of a user on. */
type KeptNames = readonly string[]

/** A kept entry, with its {@link listedState}. */
type Listed = readonly [names: KeptNames, listed: string | null]

/**
 * Compares what is kept of a user on one mount with the index. A difference is no change of the user's files, so the index takes it without a
 * row in the journal. Items that it does not know come to the trash. Those of changes that run are left for the next time.
 *
 * @param turn is held for one page of a folder or one batch of entries, so that users share the disk
 */
export async function compareKept(
  services: KeptScanServices,
  files: KeptFiles,
  tree: IndexTree,
  turn: Mutex,
): Promise<void> {
  const folders: KeptNames[] = [[]]
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop())
    folders.push(...(await compareFolder(services, files, tree, turn, folder)))
}

/** @returns the folders in it */
async function compareFolder(
  services: KeptScanServices,
  files: KeptFiles,
  tree: IndexTree,
  turn: Mutex,
  folder: KeptNames,
): Promise<KeptNames[]> {
  const { mounts, signal } = services
  const known = await entriesIn(tree, folder)
  const found: KeptNames[] = []
  const differing: Listed[] = []
  const check = async () => {
    const batch = differing.splice(0)
    found.push(...(await turn.run(() => checkEntries(services, files, tree, batch))))
  }
  const place = mounts.locateKept(files.userUuid, files.mount, folder.join('/'))
  try {
    for await (const page of pagesOf(place, turn, signal)) {
      for (const entry of page) {
        const before = known.get(entry.name)
        known.delete(entry.name)
        if (!isSame(before, entry)) differing.push([[...folder, entry.name], listedState(entry)])
        else if (entry.type === 'directory') found.push([...folder, entry.name])
      }
      if (differing.length >= batchSize) await check()
    }
  } catch (error) {
    // Nothing is kept.
    if (!isMissing(error)) throw error
  }
  for (const name of known.keys()) {
    differing.push([[...folder, name], null])
    if (differing.length >= batchSize) await check()
  }
  if (differing.length > 0) await check()
  return found
}

async function entriesIn(tree: IndexTree, folder: KeptNames): Promise<Map<string, KnownEntry>> {
  const known = new Map<string, KnownEntry>()
  for (let after = ''; ; await nextTurn()) {
    const page = await tree.keptPage(folder, after, pageSize)
    for (const entry of page) known.set(entry.name, entry)
    if (page.length < pageSize) return known
    after = page.at(-1)?.name ?? ''
  }
}

/**
 * Takes entries that differ into the index.
 *
 * @returns the folders among them
 */
async function checkEntries(
  services: KeptScanServices,
  { userUuid, mount }: KeptFiles,
  tree: IndexTree,
  batch: readonly Listed[],
): Promise<KeptNames[]> {
  const { mounts, signal } = services
  signal.throwIfAborted()
  const entries: (readonly [KeptNames, StorageEntry | null, string | null])[] = []
  const differing: (readonly [KeptNames, StorageEntry | null])[] = []
  // A change may begin and end while the storage is asked.
  using open = await openChanges(services, userUuid)
  await concurrently(batch, statsAtOnce, async ([names, listed]) => {
    // The index first: a deletion for good takes the file before its entry.
    const before = (await tree.keptAt(names)) ?? undefined
    const entry = await entryIn(mounts.locateKept(userUuid, mount, names.join('/')))
    entries.push([names, entry, listed])
    if (!isSame(before, entry)) differing.push([names, entry])
  })
  const isChanging = ([item]: KeptNames) =>
    open.some(({ keptAs, restores }) => itemOf(keptAs) === item || itemOf(restores) === item)
  const changed = differing.filter(([names]) => !isChanging(names))
  await tree.putKept(changed.map(([names, entry]) => [names, entry === null ? null : foundEntry(entry)]))
  const files: ListedFile[] = []
  for (const [names, entry, listed] of entries) {
    const known = entry?.type === 'file' && listed !== null ? await tree.keptAt(names) : null
    if (known !== null && entry !== null && listed !== null)
      files.push({ id: known.id, revision: entry.revision, listed })
  }
  await tree.putListed(files)
  return entries.flatMap(([names, entry]) => (entry?.type === 'directory' ? [names] : []))
}

function itemOf(name: string | undefined): string | undefined {
  return name?.split('/', 1)[0]
}
