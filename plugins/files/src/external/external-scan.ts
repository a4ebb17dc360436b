import { setImmediate as nextTurn } from 'node:timers/promises'
import { concurrently, type Mutex, type StorageEntry, type StorageListEntry } from '@nodekeep/plugin-sdk'
import { foundEntry, type KnownEntry, listedState } from '../entries/known-entry.ts'
import { byOtherPrograms, type ChangedPaths, type ChangeIntent } from '../journal/change.ts'
import type { Journal } from '../journal/journal.ts'
import type { RunningChanges } from '../journal/running-changes.ts'
import { isMissing, type Mounts } from '../mounts/mounts.ts'
import type { PathLocks, Release } from '../paths/path-locks.ts'
import {
  childOf,
  foldersAbove,
  isWithin,
  longestPath,
  outermost,
  parentOf,
  type UserPath,
} from '../paths/user-path.ts'
import { ChangeThrottle } from './change-throttle.ts'
import type { IndexTree } from './index-tree.ts'
import { compareKept } from './kept-scan.ts'
import { isSame, pageSize, pagesOf, statsAtOnce } from './listed-entries.ts'
import { type OpenChanges, openChanges } from './open-changes.ts'

/** Paths that are checked under one lock. */
const batchSize = 128

/** Changes that are recorded with one sync of the disk, each with the folders above it. */
const recordedChanges = 64

/** Milliseconds after which what is kept is compared again. */
const compareKeptMs = 24 * 60 * 60 * 1000

/** More hints than this are replaced by one scan of the whole mount. */
const maxHints = 20_000

/** Paths that the node itself removed, for which a hint is still expected, and milliseconds until it is not expected any more. */
const maxRemovals = 20_000
const expectHintMs = 60_000

/** Milliseconds for which an entry that has gone is looked for at the paths of later hints. They tell where it was renamed to. */
const awaitRenameMs = 500

export interface ExternalScanServices {
  readonly journal: Journal
  readonly mounts: Mounts
  readonly locks: PathLocks
  readonly running: RunningChanges
  /** Called when readers of the journal may see something new. */
  readonly announce: (userUuid: string, seq: number) => void
  /** Ends the scan. */
  readonly signal: AbortSignal
}

/**
 * Compares the files of a user on one mount with the index, and records differences as changes of other programs. While the index is
 * not complete, it takes what the storage has, without changes.
 *
 * The index follows the journal, so the node's own changes do not differ. A difference counts only under the lock of its path,
 * and when no change of the path is open. Other paths are left for the next run.
 */
export class ExternalScan implements Disposable {
  readonly #services: ExternalScanServices
  readonly #userUuid: string
  readonly #mount: UserPath
  readonly #tree: IndexTree
  readonly #turn: Mutex
  readonly #throttle = new ChangeThrottle()
  /** When the node itself removed something, in milliseconds of `performance.now()`, oldest first. */
  readonly #removals = new Map<UserPath, number>()
  #hints = new Set<UserPath>()
  /** When the first hint came that waits, and the first that the run follows, in milliseconds of `performance.now()`. A run may take minutes. */
  #hintedSince: number | null = null
  #runHintedSince: number | null = null
  /** Paths for the next run. While the index is incomplete, it may lack them. */
  #left: Set<UserPath>
  readonly #areWatched: boolean
  /** Paths of the index where nothing is now, and when that was found, in milliseconds of `performance.now()`. */
  readonly #gone = new Map<UserPath, number>()
  /** In milliseconds of `performance.now()`. */
  #keptComparedAt = Number.NEGATIVE_INFINITY
  readonly #unfollow: () => void

  /** @param turn is held for one page of a folder or one batch of paths, so that users share the disk */
  constructor(
    services: ExternalScanServices,
    { userUuid, mount, areWatched }: ScannedFiles,
    tree: IndexTree,
    turn: Mutex,
  ) {
    this.#services = services
    this.#userUuid = userUuid
    this.#mount = mount
    this.#tree = tree
    this.#turn = turn
    this.#areWatched = areWatched
    this.#left = new Set([mount])
    this.#unfollow = services.running.follow(userUuid, (change) => this.#notice(change))
  }

  [Symbol.dispose](): void {
    this.#unfollow()
  }

  /** Milliseconds until the next run has paths to scan; `null` if it has none. */
  get dueInMs(): number | null {
    if (this.#hints.size + this.#left.size > 0) return 0
    const [goneSince = Infinity] = this.#gone.values()
    const deletedInMs = Math.max(0, goneSince + awaitRenameMs - performance.now())
    const dueInMs = Math.min(deletedInMs, this.#throttle.dueInMs ?? Infinity)
    return dueInMs === Infinity ? null : dueInMs
  }

  /** Whether the index has all entries. */
  get hasAll(): boolean {
    return this.#tree.isComplete
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
    this.#hintedSince ??= performance.now()
    if (this.#hints.size < maxHints) this.#hints.add(path)
    else this.#hints = new Set([this.#mount])
    return true
  }

  /** Takes note of a change that the node itself makes. */
  #notice({ op, path, source }: ChangeIntent): void {
    const { mounts } = this.#services
    if (mounts.pointOf(path as UserPath) !== this.#mount) return
    // Its former place may not be scanned yet, and its new one may be.
    if (op === 'move' && !this.#tree.isComplete) this.#left.add(path as UserPath)
    // Hints for what the node removes are expected, and are no changes of other programs.
    const removed = op === 'delete' ? path : source
    if (removed === undefined) return
    this.#removals.delete(removed as UserPath)
    this.#removals.set(removed as UserPath, performance.now())
    this.#forgetRemovals()
  }

  /** Forgets the removals by the node for which no hint is expected, and none waits. */
  #forgetRemovals(): void {
    const now = performance.now()
    const oldest = Math.min(this.#hintedSince ?? now, this.#runHintedSince ?? now) - expectHintMs
    for (const [path, since] of this.#removals) {
      if (this.#removals.size <= maxRemovals && since >= oldest) return
      this.#removals.delete(path)
    }
  }

  /**
   * Scans the paths of the hints. While the index is incomplete, the scan adds entries to it without recording changes.
   *
   * @throws the error of a storage that does not answer. The next run then scans the whole mount
   */
  async run(): Promise<void> {
    // A folder comes before what is in it.
    const scanned = outermost([...this.#left, ...this.#hints, ...this.#throttle.takeDue()])
    this.#left = new Set()
    this.#hints = new Set()
    const goneUntil = this.#areWatched ? performance.now() - awaitRenameMs : Infinity
    this.#runHintedSince = this.#hintedSince
    this.#hintedSince = null
    this.#forgetRemovals()
    try {
      const isWhole = scanned[0] === this.#mount
      if (isWhole) await this.#compareKept()
      const mount = folderIn(this.#mount, null)
      await this.#walk(isWhole ? [mount] : await this.#check(scanned, { areHinted: true }))
      await this.#walk(await this.#check(this.#takeGone(goneUntil), { areGone: true }))
      if (this.#left.size === 0 && (isWhole || !this.#tree.isComplete)) await this.#tree.complete()
    } catch (error) {
      this.#left.add(this.#mount)
      throw error
    } finally {
      if (this.#left.size > 0) this.#hintedSince = this.#runHintedSince ?? this.#hintedSince
      this.#runHintedSince = null
    }
  }

  #noticeGone(path: UserPath): void {
    if (!this.#gone.has(path)) this.#gone.set(path, performance.now())
  }

  /** Takes the paths that count as deleted now. They come after all renames: an entry that was renamed keeps its row. */
  #takeGone(until: number): UserPath[] {
    const outer = outermost([...this.#gone.keys()])
    const due = new Set([...this.#gone].flatMap(([path, since]) => (since <= until ? [path] : [])))
    for (const path of due) this.#gone.delete(path)
    // A folder that is gone takes all that was in it with it.
    return outer.filter((path) => due.has(path))
  }

  /** Compares what is kept, unless that was done lately: only the node itself changes it. */
  async #compareKept(): Promise<void> {
    if (performance.now() - this.#keptComparedAt < compareKeptMs) return
    const files = { userUuid: this.#userUuid, mount: this.#mount }
    await compareKept(this.#services, files, this.#tree, this.#turn)
    this.#keptComparedAt = performance.now()
  }

  /** Compares folders and everything below them. Differences of many small folders are recorded together. */
  async #walk(from: readonly Folder[]): Promise<void> {
    const folders = [...from]
    const differing: Differing = new Map()
    while (folders.length > 0 || differing.size > 0) {
      const folder = folders.pop()
      folders.push(
        ...(folder === undefined
          ? await this.#flush(differing)
          : await this.#compareFolder(folder, differing)),
      )
    }
  }

  /**
   * @param differing takes the entries that differ from the index
   * @returns folders that must be scanned
   */
  async #compareFolder(compared: Folder, differing: Differing): Promise<Folder[]> {
    const { mounts } = this.#services
    const folder = compared.path
    using open = await openChanges(this.#services, this.#userUuid)
    const known = await this.#entriesIn(compared)
    const found: Folder[] = []
    const listed: Differing = this.#tree.isComplete ? differing : new Map()
    try {
      for await (const page of pagesOf(
        this.#services.mounts.locate(this.#userUuid, folder),
        this.#turn,
        this.#services.signal,
      )) {
        for (const entry of page) {
          const path = childOf(folder, entry.name)
          const before = known.get(entry.name)
          known.delete(entry.name)
          if (!isUsable(path, entry.name) || mounts.isPoint(path)) continue
          if (!isSame(before, entry) && !mounts.holdsMount(path)) listed.set(path, entry)
          else if (entry.type === 'directory') found.push(folderIn(path, before))
        }
        if (!this.#tree.isComplete) found.push(...(await this.#takeListed(listed, differing, open)))
        if (differing.size >= batchSize) found.push(...(await this.#flush(differing)))
      }
    } catch (error) {
      // A user without files has no folder. Other folders are checked themselves.
      if (!isMissing(error)) throw error
      if (folder !== this.#mount) return this.#check([folder])
    }
    const gone = [...known.keys()].map((name) => childOf(folder, name))
    if (!this.#tree.isComplete) return [...found, ...(await this.#check(gone))]
    for (const path of gone) this.#noticeGone(path)
    return found
  }

  /** Checks the entries that differ, and forgets them. */
  async #flush(differing: Differing): Promise<Folder[]> {
    const listed = new Map(differing)
    differing.clear()
    return this.#check([...listed.keys()], { listed })
  }

  /**
   * Takes listed entries into an index that is not complete. A complete one has readers, and differences are changes. Until then, a
   * listing is enough where nothing changes beside it.
   *
   * @param listed is emptied
   * @param differing takes the entries that must be checked
   * @param open the changes since before the listing
   * @returns the folders among the others
   */
  async #takeListed(listed: Differing, differing: Differing, open: OpenChanges): Promise<Folder[]> {
    const taken: [UserPath, StorageListEntry][] = []
    for (const [path, entry] of listed) {
      if (open.some((change) => overlaps(change, path)) || (await this.#tree.get(path)) !== null)
        differing.set(path, entry)
      else taken.push([path, entry])
    }
    listed.clear()
    await this.#tree.put(taken.map(([path, entry]) => [path, foundEntry(entry)]))
    return taken.filter(([, { type }]) => type === 'directory').map(([path]) => folderIn(path, null))
  }

  async #entriesIn({ path, id }: Folder): Promise<Map<string, KnownEntry>> {
    const known = new Map<string, KnownEntry>()
    const folder = id ?? (await this.#tree.folderAt(path))
    if (folder === null) return known
    for (let after = ''; ; await nextTurn()) {
      const page = await this.#tree.page(folder, after, pageSize)
      for (const entry of page) known.set(entry.name, entry)
      if (page.length < pageSize) return known
      after = page.at(-1)?.name ?? ''
    }
  }

  /**
   * Records the paths that differ from the index.
   *
   * @returns the folders among the paths that must be scanned
   */
  async #check(paths: readonly UserPath[], options: CheckOptions = {}): Promise<Folder[]> {
    const folders: Folder[] = []
    for (let start = 0; start < paths.length; start += batchSize) {
      const batch = paths.slice(start, start + batchSize)
      folders.push(...(await this.#turn.run(() => this.#checkBatch(batch, options))))
    }
    return folders
  }

  async #checkBatch(paths: readonly UserPath[], options: CheckOptions): Promise<Folder[]> {
    const { locks, mounts, signal } = this.#services
    signal.throwIfAborted()
    const wanted = paths.filter((path) => !mounts.holdsMount(path))
    if (wanted.length === 0) return []
    const release = locks.tryAcquire(this.#userUuid, wanted)
    if (release !== null) return this.#checkLocked(wanted, options, release)
    const folders: Folder[] = []
    for (const path of wanted) {
      const release = locks.tryAcquire(this.#userUuid, [path])
      if (release === null) this.#left.add(path)
      else folders.push(...(await this.#checkLocked([path], options, release)))
    }
    return folders
  }

  async #checkLocked(
    locked: readonly UserPath[],
    { areHinted = false, areGone = false, listed = nothingListed }: CheckOptions,
    release: Release,
  ): Promise<Folder[]> {
    const { mounts } = this.#services
    const userUuid = this.#userUuid
    try {
      const paths = await this.#readable(locked)
      const found = new Map<UserPath, Found>()
      await concurrently(paths, statsAtOnce, async (path) => {
        const entry = await mounts.entryAt(userUuid, path)
        found.set(path, { path, entry, before: await this.#tree.get(path) })
        if (entry !== null) this.#gone.delete(path)
      })
      const inOrder = paths.flatMap((path) => found.get(path) ?? [])
      const differing = inOrder.filter(({ path, before, entry }) => {
        if (before === null && entry === null) return areHinted && !this.#wasRemovedByNode(path)
        return !isSame(before ?? undefined, entry)
      })
      if (!this.#tree.isComplete) await this.#put(differing)
      else await this.#recordAll(differing, { areGone, locked })
      await this.#rememberListed(inOrder, listed)
      return inOrder
        .filter(({ path, entry }) => entry?.type === 'directory' && !this.#throttle.isWaiting(path))
        .map(({ path, before }) => folderIn(path, before))
    } finally {
      release()
    }
  }

  async #put(found: readonly Found[]): Promise<void> {
    await this.#tree.put(found.map(({ path, entry }) => [path, entry === null ? null : foundEntry(entry)]))
  }

  /** Records differences as changes, but those that only add to what the index knows. */
  async #recordAll(
    differing: readonly Found[],
    { areGone, locked }: { readonly areGone: boolean; readonly locked: readonly UserPath[] },
  ): Promise<void> {
    const isUnknown = ({ before, entry }: Found) =>
      entry?.type === 'file' && before?.type === 'file' && isPartlyKnown(before, entry.revision)
    await this.#put(differing.filter(isUnknown))
    const changed = differing.filter((each) => !isUnknown(each))
    const later = changed.filter(({ before, entry }) => before !== null && entry === null && !areGone)
    for (const { path } of later) this.#noticeGone(path)
    const allowed = changed.filter((each) => !later.includes(each) && this.#throttle.allows(each.path))
    for (const one of allowed.filter(({ before }) => before === null)) await this.#recordRename(one, locked)
    const left: ChangeIntent[] = []
    for (const { path, entry } of allowed) {
      const now = await this.#tree.get(path)
      if (!isSame(now ?? undefined, entry) || (now === null && entry === null))
        left.push(...changesOf(this.#userUuid, path, now, entry))
    }
    await this.#record(left)
    for (const { path } of allowed) this.#throttle.recorded(path)
  }

  /** Records a move if the entry is one that had another path before: a file with this revision, or a folder with such a file. */
  async #recordRename({ path, entry }: Found, locked: readonly UserPath[]): Promise<void> {
    const { locks, mounts } = this.#services
    if (entry === null) return
    const revision = entry.type === 'file' ? { revision: entry.revision } : {}
    const sources =
      entry.type === 'file' ? await this.#tree.pathsOf(entry.revision) : await this.#formerFolders(path)
    for (const source of sources) {
      if (isWithin(source, path) || isWithin(path, source) || mounts.holdsMount(source)) continue
      const isLocked = locked.some((one) => isWithin(source, one))
      const release = isLocked ? () => {} : locks.tryAcquire(this.#userUuid, [source])
      if (release === null) continue
      try {
        const isReadable = (await this.#readable([source])).length > 0
        const there = isReadable ? await mounts.entryAt(this.#userUuid, source) : null
        // Something else may have taken its place. A second name of the same file is no move.
        const isGone = there === null || (entry.type === 'file' && there.revision !== entry.revision)
        if (!isReadable || !isGone) continue
        const move = { userUuid: this.#userUuid, op: 'move', path, source, by: byOtherPrograms } as const
        await this.#record([{ ...move, ...revision }])
        if (there !== null) this.#left.add(source)
        return
      } finally {
        release()
      }
    }
  }

  /** The folders where the first files of a folder were by the index. */
  async #formerFolders(path: UserPath): Promise<UserPath[]> {
    const { mounts } = this.#services
    const { backend, backendPath } = mounts.locate(this.#userUuid, path)
    const former = new Set<UserPath>()
    try {
      for await (const { name, type, revision } of backend.list(backendPath)) {
        if (type === 'directory' || revision === undefined) continue
        for (const place of await this.#tree.pathsOf(revision))
          if (place.endsWith(`/${name}`)) former.add(parentOf(place))
        break
      }
    } catch (error) {
      if (!isMissing(error)) throw error
    }
    return [...former]
  }

  async #record(changes: readonly ChangeIntent[]): Promise<void> {
    const { journal, announce } = this.#services
    for (let start = 0; start < changes.length; start += recordedChanges)
      announce(this.#userUuid, await journal.add(changes.slice(start, start + recordedChanges)))
  }

  /** Remembers what the listing told of files whose revision is known now. */
  async #rememberListed(
    found: readonly Found[],
    listed: ReadonlyMap<UserPath, StorageListEntry>,
  ): Promise<void> {
    const files = []
    for (const { path, entry } of found) {
      const before = listed.get(path)
      const state = before === undefined ? null : listedState(before)
      const row = state === null || entry?.type !== 'file' ? null : await this.#tree.get(path)
      if (row !== null && state !== null && entry !== null)
        files.push({ id: row.id, revision: entry.revision, listed: state })
    }
    await this.#tree.putListed(files)
  }

  /** Leaves out the paths of unfinished copies, and for the next run those with changes whose outcome is open. */
  async #readable(paths: readonly UserPath[]): Promise<readonly UserPath[]> {
    const { journal } = this.#services
    const pending = await journal.pendingPaths(this.#userUuid)
    const copies = (await journal.stagedMoves()).filter(({ userUuid }) => userUuid === this.#userUuid)
    return paths.filter((path) => {
      if (copies.some((copy) => isWithin(path, copy.path))) return false
      const isReadable = !pending.some((change) => overlaps(change, path))
      if (!isReadable) this.#left.add(path)
      return isReadable
    })
  }

  /** Whether the node itself has removed a path, or a folder above it, in the minute before its hint. A storage may hint at it several times, and late. */
  #wasRemovedByNode(path: UserPath): boolean {
    return [path, ...foldersAbove(path)].some((place) => this.#removals.has(place))
  }
}

/** The files of a user on one mount. */
export interface ScannedFiles {
  readonly userUuid: string
  readonly mount: UserPath
  /** Whether hints tell their changes. */
  readonly areWatched: boolean
}

/** A folder to compare. */
interface Folder {
  readonly path: UserPath
  /**
   * Its id in the index, so that a path of 2,000 levels is not followed for each folder of them; null where it must be looked up. The folder
   * may have moved since. Hints tell what another program changes at its former place after that.
   */
  readonly id: number | null
}

/** The entry at a path, and that of the index. */
interface Found {
  readonly path: UserPath
  readonly entry: StorageEntry | null
  readonly before: KnownEntry | null
}

/** Listed entries that differ from the index, by path. */
type Differing = Map<UserPath, StorageListEntry>

interface CheckOptions {
  /**
   * Whether the paths come from hints of the storage. If nothing is at such a path now, an entry was there for a
   * short time, and a reader of the journal may have seen it.
   */
  readonly areHinted?: boolean
  /** Whether deletions are recorded now, after all renames. */
  readonly areGone?: boolean
  /** The entries by a listing. */
  readonly listed?: ReadonlyMap<UserPath, StorageListEntry>
}

const nothingListed: ReadonlyMap<UserPath, StorageListEntry> = new Map()

/** A folder with the id that it has in the index, as far as that is known. */
function folderIn(path: UserPath, before: KnownEntry | null | undefined): Folder {
  return { path, id: before?.type === 'directory' ? before.id : null }
}

/** The changes that turn one entry into another. */
function changesOf(
  userUuid: string,
  path: UserPath,
  before: KnownEntry | null,
  entry: StorageEntry | null,
): ChangeIntent[] {
  const by = byOtherPrograms
  const changes: ChangeIntent[] = []
  if (entry === null || (before !== null && before.type !== entry.type))
    changes.push({ userUuid, op: 'delete', path, by })
  if (entry?.type === 'directory') changes.push({ userUuid, op: 'mkdir', path, by })
  if (entry?.type === 'file') {
    const { size, revision, modified } = entry
    changes.push({ userUuid, op: 'write', path, size, revision, modified, by })
  }
  return changes
}

/** Whether the index lacks facts of a file, which then do not count as changed. */
function isPartlyKnown(before: KnownEntry, revision: string): boolean {
  return before.revision === null || (before.revision === revision && before.modified === null)
}

/** Whether requests can name the path. */
function isUsable(path: UserPath, name: string): boolean {
  return !name.includes('\\') && (path.length * 3 <= longestPath || Buffer.byteLength(path) <= longestPath)
}

function overlaps({ path, source }: ChangedPaths, other: UserPath): boolean {
  return [path, source].some((one) => one !== undefined && (isWithin(one, other) || isWithin(other, one)))
}
