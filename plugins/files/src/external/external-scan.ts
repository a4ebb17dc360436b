import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  concurrently,
  type FileChange,
  isNodekeepError,
  type Mutex,
  type StorageEntry,
  type StorageListEntry,
} from '@nodekeep/plugin-sdk'
import { byOtherPrograms, type ChangedPaths, type ChangeIntent } from '../journal/change.ts'
import type { Journal } from '../journal/journal.ts'
import { isMissing, type Mounts } from '../mounts/mounts.ts'
import type { PathLocks, Release } from '../paths/path-locks.ts'
import { childOf, foldersAbove, isWithin, longestPath, outermost, type UserPath } from '../paths/user-path.ts'
import { ChangeThrottle } from './change-throttle.ts'
import { type IndexedEntry, type KnownEntry, listedState, type Tree } from './tree-index.ts'

/** Paths that are checked under one lock, and recorded with one sync of the disk. */
const batchSize = 256

/** Entries that a storage is asked for at a time. */
const statsAtOnce = 16

/** Entries of a folder or of the index, and changes of the journal, that are handled at a time. */
const pageSize = 500

/** More hints than this are replaced by one scan of the whole mount. */
const maxHints = 20_000

/** Paths that the node itself removed, for which a hint is still expected, and milliseconds until it is not expected any more. */
const maxRemovals = 20_000
const expectHintMs = 60_000

export interface ExternalScanServices {
  readonly journal: Journal
  readonly mounts: Mounts
  readonly locks: PathLocks
  /** Called when readers of the journal may see something new. */
  readonly announce: (userUuid: string, seq: number) => void
  /** Ends the scan. */
  readonly signal: AbortSignal
}

/**
 * Compares the files of a user on one mount with the index, and records differences as changes of other programs.
 *
 * The index follows the journal, so the node's own changes do not differ. A difference counts only under the lock of its path,
 * and when all changes of the path are readable in the journal. Other paths are left for the next run.
 */
export class ExternalScan {
  readonly #services: ExternalScanServices
  readonly #userUuid: string
  readonly #mount: UserPath
  readonly #tree: Tree
  readonly #turn: Mutex
  readonly #throttle = new ChangeThrottle()
  /** When the index followed each removal of the node itself, in milliseconds of `performance.now()`, oldest first. */
  readonly #removals = new Map<UserPath, number>()
  #hints = new Set<UserPath>()
  /** Paths for the next run. While the index is incomplete, it may lack them. */
  #left: Set<UserPath>

  /** @param turn is held for one page of a folder or one batch of paths, so that users share the disk */
  constructor(
    services: ExternalScanServices,
    { userUuid, mount }: { readonly userUuid: string; readonly mount: UserPath },
    tree: Tree,
    turn: Mutex,
  ) {
    this.#services = services
    this.#userUuid = userUuid
    this.#mount = mount
    this.#tree = tree
    this.#turn = turn
    this.#left = new Set([mount])
  }

  /** Milliseconds until the next run has paths to scan; `null` if it has none. */
  get dueInMs(): number | null {
    return this.#hints.size + this.#left.size > 0 ? 0 : this.#throttle.dueInMs
  }

  /**
   * Lets the next run scan a path of the mount, and everything below it.
   *
   * @returns false for a path that the throttle holds back: it is scanned when it is due
   */
  hint(path: UserPath): boolean {
    if (this.#throttle.isWaiting(path)) {
      this.#throttle.notice(path)
      return false
    }
    if (this.#hints.size < maxHints) this.#hints.add(path)
    else this.#hints = new Set([this.#mount])
    return true
  }

  /** Whether the index has all entries that the journal has now. */
  async hasAll(): Promise<boolean> {
    await this.#catchUp()
    return this.#tree.isComplete
  }

  /**
   * Scans the paths of the hints. While the index is incomplete, the scan adds entries to it without recording changes.
   *
   * @throws the error of a storage that does not answer. The next run then scans the whole mount
   */
  async run(): Promise<void> {
    try {
      await this.#catchUp()
      // A folder comes before what is in it.
      const scanned = outermost([...this.#left, ...this.#hints, ...this.#throttle.takeDue()])
      this.#left = new Set()
      this.#hints = new Set()
      if (scanned[0] === this.#mount) await this.#walk(this.#mount)
      else {
        for (const folder of await this.#check(scanned, { areHinted: true })) await this.#walk(folder)
      }
      if (this.#left.size === 0 && !this.#tree.isComplete) this.#tree.complete()
    } catch (error) {
      this.#left.add(this.#mount)
      throw error
    }
  }

  /** Compares a folder and everything below it. */
  async #walk(from: UserPath): Promise<void> {
    const folders = [from]
    for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
      await this.#catchUp()
      for (const inner of await this.#compareFolder(folder)) folders.push(inner)
    }
  }

  /** @returns the folders in the folder that must be scanned */
  async #compareFolder(folder: UserPath): Promise<UserPath[]> {
    const { mounts } = this.#services
    const known = await this.#entriesIn(folder)
    const subfolders: UserPath[] = []
    try {
      for await (const page of this.#pagesOf(folder)) {
        const differing = new Map<UserPath, string | null>()
        for (const entry of page) {
          const path = childOf(folder, entry.name)
          const before = known.get(entry.name)
          known.delete(entry.name)
          if (!isUsable(path, entry.name) || mounts.isPoint(path)) continue
          if (!isSame(before, entry) && !mounts.holdsMount(path)) differing.set(path, listedState(entry))
          else if (entry.type === 'directory') subfolders.push(path)
        }
        subfolders.push(...(await this.#check([...differing.keys()], { listed: differing })))
      }
    } catch (error) {
      // A user without files has no folder. Other folders are checked themselves.
      if (!isMissing(error)) throw error
      if (folder !== this.#mount) return this.#check([folder])
    }
    const gone = [...known.keys()].map((name) => childOf(folder, name))
    return [...subfolders, ...(await this.#check(gone))]
  }

  /** Lists a folder. The turn of the storage is held for one page. */
  async *#pagesOf(folder: UserPath): AsyncIterable<readonly StorageListEntry[]> {
    const { mounts, signal } = this.#services
    const { backend, backendPath } = mounts.locate(this.#userUuid, folder)
    const entries = backend.list(backendPath)[Symbol.asyncIterator]()
    try {
      for (let isLast = false; !isLast; ) {
        const page = await this.#turn.run(() => take(entries, pageSize))
        signal.throwIfAborted()
        yield page
        isLast = page.length < pageSize
      }
    } finally {
      await entries.return?.()
    }
  }

  async #entriesIn(folder: UserPath): Promise<Map<string, KnownEntry>> {
    const known = new Map<string, KnownEntry>()
    let after = ''
    for (;;) {
      const page = this.#tree.page(folder, after, pageSize)
      for (const [name, entry] of page) known.set(name, entry)
      const last = page.at(-1)
      if (last === undefined || page.length < pageSize) return known
      after = last[0]
      await nextTurn()
    }
  }

  /**
   * Records the paths that differ from the index.
   *
   * @param areHinted whether the paths come from hints of the storage. If nothing is at such a path now, an entry was there for a
   *   short time, and a reader of the journal may have seen it
   * @param listed the states of files by a listing
   * @returns the folders among the paths that must be scanned
   */
  async #check(
    paths: readonly UserPath[],
    { areHinted = false, listed = nothingListed }: CheckOptions = {},
  ): Promise<UserPath[]> {
    const folders: UserPath[] = []
    for (let start = 0; start < paths.length; start += batchSize) {
      const batch = paths.slice(start, start + batchSize)
      folders.push(...(await this.#turn.run(() => this.#checkBatch(batch, { areHinted, listed }))))
    }
    return folders
  }

  async #checkBatch(paths: readonly UserPath[], options: Required<CheckOptions>): Promise<UserPath[]> {
    const { locks, mounts, signal } = this.#services
    signal.throwIfAborted()
    const wanted = paths.filter((path) => !mounts.holdsMount(path))
    if (wanted.length === 0) return []
    const release = locks.tryAcquire(this.#userUuid, wanted)
    if (release !== null) return this.#checkLocked(wanted, options, release)
    const folders: UserPath[] = []
    for (const path of wanted) {
      const release = locks.tryAcquire(this.#userUuid, [path])
      if (release === null) this.#left.add(path)
      else folders.push(...(await this.#checkLocked([path], options, release)))
    }
    return folders
  }

  async #checkLocked(
    locked: readonly UserPath[],
    { areHinted, listed }: Required<CheckOptions>,
    release: Release,
  ): Promise<UserPath[]> {
    const { journal, mounts, announce } = this.#services
    const userUuid = this.#userUuid
    try {
      await this.#catchUp()
      const paths = await this.#readable(locked)
      const entries = new Map<UserPath, StorageEntry | null>()
      await concurrently(paths, statsAtOnce, async (path) => {
        entries.set(path, await mounts.entryAt(userUuid, path))
      })
      const found = paths.map((path) => [path, entries.get(path) ?? null] as const)
      const differing = found.filter(([path, entry]) => {
        const before = this.#tree.get(path)
        if (before === null && entry === null) return areHinted && !this.#wasRemovedByNode(path)
        return !isSame(before ?? undefined, entry)
      })
      if (!this.#tree.isComplete) this.#tree.put(differing)
      else {
        const isUnknown = ([path, entry]: (typeof found)[number]) => {
          const before = this.#tree.get(path)
          return entry?.type === 'file' && before?.type === 'file' && before.revision === null
        }
        this.#tree.put(differing.filter(isUnknown))
        const allowed = differing.filter((each) => !isUnknown(each) && this.#throttle.allows(each[0]))
        if (allowed.length > 0) {
          const changes = allowed.flatMap(([path, entry]) =>
            changesOf(userUuid, path, this.#tree.get(path), entry),
          )
          announce(userUuid, await journal.add(changes))
          for (const [path] of allowed) this.#throttle.recorded(path)
          await this.#catchUp()
        }
      }
      this.#tree.putListed(
        found.flatMap(([path, entry]) => {
          const state = listed.get(path) ?? null
          return state === null || entry?.type !== 'file'
            ? []
            : [{ path, revision: entry.revision, listed: state }]
        }),
      )
      return found
        .filter(([path, entry]) => entry?.type === 'directory' && !this.#throttle.isWaiting(path))
        .map(([path]) => path)
    } finally {
      release()
    }
  }

  /** Leaves out the paths of unfinished copies, and for the next run those with changes that cannot be read yet. */
  async #readable(paths: readonly UserPath[]): Promise<readonly UserPath[]> {
    const { journal } = this.#services
    const unread = await journal.unread(this.#userUuid, this.#tree.seq)
    const copies = (await journal.stagedMoves()).filter(({ userUuid }) => userUuid === this.#userUuid)
    return paths.filter((path) => {
      if (copies.some((copy) => isWithin(path, copy.path))) return false
      const isReadable = !unread.some((change) => overlaps(change, path))
      if (!isReadable) this.#left.add(path)
      return isReadable
    })
  }

  /** Brings the index to the newest change that can be read. If the journal lacks some, the index is built again. */
  async #catchUp(): Promise<void> {
    const { journal, mounts, signal } = this.#services
    if (this.#tree.epoch !== journal.epoch) await this.#restart()
    for (;;) {
      signal.throwIfAborted()
      const changes = await journal.read(this.#userUuid, this.#tree.seq, pageSize).catch((error: unknown) => {
        if (isNodekeepError(error) && error.code === 'CONFLICT') return null
        throw error
      })
      const last = changes?.at(-1)
      if (changes === null) await this.#restart()
      else if (last === undefined) return
      else {
        const own = changes.filter(({ path }) => mounts.pointOf(path as UserPath) === this.#mount)
        this.#expectHints(own)
        const unknown = this.#tree.apply(own, last.seq)
        if (!this.#tree.isComplete) for (const path of unknown) this.#left.add(path as UserPath)
      }
    }
  }

  /** Remembers what the node itself removed: hints for these paths are expected, and are no changes of other programs. */
  #expectHints(changes: readonly FileChange[]): void {
    const now = performance.now()
    for (const { op, path, source, by } of changes) {
      const removed = op === 'delete' ? path : source
      if (removed === undefined || by === byOtherPrograms) continue
      this.#removals.delete(removed as UserPath)
      this.#removals.set(removed as UserPath, now)
    }
    for (const [path, since] of this.#removals) {
      if (this.#removals.size <= maxRemovals && now - since < expectHintMs) break
      this.#removals.delete(path)
    }
  }

  #wasRemovedByNode(path: UserPath): boolean {
    return this.#removals.delete(path) || foldersAbove(path).some((folder) => this.#removals.has(folder))
  }

  async #restart(): Promise<void> {
    const { journal } = this.#services
    const { epoch } = journal
    this.#tree.restart(epoch, await journal.head(this.#userUuid))
    this.#left.add(this.#mount)
  }
}

interface CheckOptions {
  readonly areHinted?: boolean
  readonly listed?: ReadonlyMap<UserPath, string | null>
}

const nothingListed: ReadonlyMap<UserPath, string | null> = new Map()

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

/** The changes that turn one entry into another. */
function changesOf(
  userUuid: string,
  path: UserPath,
  before: IndexedEntry | null,
  entry: StorageEntry | null,
): ChangeIntent[] {
  const by = byOtherPrograms
  const changes: ChangeIntent[] = []
  if (entry === null || (before !== null && before.type !== entry.type))
    changes.push({ userUuid, op: 'delete', path, by })
  if (entry?.type === 'directory') changes.push({ userUuid, op: 'mkdir', path, by })
  if (entry?.type === 'file') {
    const { size, revision } = entry
    changes.push({ userUuid, op: 'write', path, size, revision, by })
  }
  return changes
}

function isSame(before: KnownEntry | undefined, entry: StorageListEntry | null): boolean {
  if (before === undefined || entry === null) return before === undefined && entry === null
  if (before.type !== entry.type) return false
  if (entry.type === 'directory') return true
  return entry.revision === undefined
    ? before.listed === listedState(entry)
    : before.revision === entry.revision
}

/** Whether requests can name the path. */
function isUsable(path: UserPath, name: string): boolean {
  return !name.includes('\\') && (path.length * 3 <= longestPath || Buffer.byteLength(path) <= longestPath)
}

function overlaps({ path, source }: ChangedPaths, other: UserPath): boolean {
  return [path, source].some((one) => one !== undefined && (isWithin(one, other) || isWithin(other, one)))
}
