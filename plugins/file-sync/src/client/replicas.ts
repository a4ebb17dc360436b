import type { WireChange } from '../protocol/messages.ts'
import { ignoreRules } from './ignore-rules.ts'
import { PathTree } from './path-tree.ts'
import type { Disk, LocalEntry, RemoteEntry } from './ports.ts'
import { type LocalState, type RemoteState, reconcile, type Step } from './reconcile.ts'
import { Removals } from './removals.ts'
import { folderOf, foldersAbove, isSyncPath, isWithin, nameOf } from './sync-paths.ts'
import {
  type CommonRecord,
  isOutcome,
  type Outcome,
  type RemoteRecord,
  type SyncState,
  type Told,
} from './sync-state.ts'

/** An entry of the disk, and the SHA-256 of a file once it is known. */
export type LocalRecord = LocalEntry & { readonly sha256?: string }

/** The time of a scan of a side, or of a change. Its outcome says nothing about the paths that have changed meanwhile. */
interface Scan extends Disposable {
  /** Whether a path has changed since the begin. */
  isTouched(path: string): boolean
}

/** The newest outcomes of a path that are kept while it is changed: a hostile node could send others without end. */
const mostTold = 100

/** The time of a change of the node that this client makes. */
interface RemoteChange extends Scan {
  /** The outcomes that the journal has reported for one of the paths since the begin, oldest first. */
  toldOf(path: string): readonly Outcome[]
}

/** The steps that take something away from a person. */
export function isRemoval({ do: what }: Step): boolean {
  return what === 'removeLocal' || what === 'removeRemote'
}

/** Both sides as they were scanned last, and the dirty paths: they must be reconciled because something about them changed. */
export class Replicas {
  readonly state: SyncState
  readonly local = new PathTree<LocalRecord>()
  /** Paths to reconcile. */
  readonly dirty = new Set<string>()
  readonly removals = new Removals()
  /** Paths that wait for a later attempt. */
  readonly retryLater = new Set<string>()
  /** Paths on the disk that may have changed. */
  readonly dirtyLocal = new Set<string>()
  /** Why a path is not synced, in a sentence. */
  readonly problems = new Map<string, string>()
  /** Whether a mount that does not answer holds the journal of the node back. */
  isHeldBack = false
  /** Paths with a step that is being made. */
  readonly busy = new Set<string>()
  /** Tells whether a path is left alone because of a rule of the person. */
  ignores: (path: string, isFolder: boolean) => boolean = ignoreRules('')
  readonly #disk: Pick<Disk, 'nameKey' | 'unfitName'>
  /** Local paths whose key is another text, by this key. A disk that tells upper from lower case has none. */
  readonly #folded = new Map<string, Set<string>>()
  /** Folders on one side and files on the other. */
  readonly #waitingForContent = new Set<string>()
  /** Paths of the node that wait for a name on this disk, by the key of the name. */
  readonly #waitingForName = new Map<string, Set<string>>()
  readonly #localScans = new Set<Set<string>>()
  readonly #remoteScans = new Set<Set<string>>()
  readonly #remoteChanges = new Set<{
    readonly touched: Set<string>
    readonly told: ReadonlyMap<string, Outcome[]>
  }>()

  constructor(state: SyncState, disk: Pick<Disk, 'nameKey' | 'unfitName'>) {
    this.state = state
    this.#disk = disk
  }

  /** Marks a path whose situation has changed. The folder above may become empty or needed. */
  touch(path: string): void {
    // A path that failed waits, however often it changes: a node that is hostile could keep the client busy.
    if (!this.retryLater.has(path)) {
      this.problems.delete(path)
      this.dirty.add(path)
    }
    const folder = folderOf(path)
    if (folder !== '/') this.dirty.add(folder)
  }

  /** Marks all paths. */
  touchAll(): void {
    for (const paths of [
      this.local.within('/'),
      this.state.remote.within('/'),
      this.state.common.within('/'),
    ]) {
      for (const path of paths) this.dirty.add(path)
    }
  }

  /** Records what this client has made of a path on the disk. */
  setLocal(path: string, entry: LocalRecord | null): void {
    for (const touched of this.#localScans) touched.add(path)
    this.seeLocal(path, entry)
  }

  /** Records what a scan has found on the disk. */
  seeLocal(path: string, entry: LocalRecord | null): void {
    const former = this.local.get(path)
    if (isSame(former, entry)) return
    if (entry === null) this.local.delete(path)
    else this.local.set(path, entry)
    const key = this.#keyOf(path)
    if (key !== path) {
      const folded = this.#folded.get(key) ?? new Set()
      if (entry === null) folded.delete(path)
      else folded.add(path)
      if (folded.size === 0) this.#folded.delete(key)
      else this.#folded.set(key, folded)
    }
    this.touch(path)
    if (former?.type === entry?.type) return
    // Something at the path may have been in the way of what is below it, or of another spelling of its name.
    for (const below of this.state.remote.within(path)) this.dirty.add(below)
    for (const waiting of this.#waitingForName.get(key) ?? []) this.dirty.add(waiting)
    this.#waitingForName.delete(key)
  }

  /** Records the folders above a path, which were made on the disk together with it. The node had them. */
  setLocalFolders(path: string): void {
    for (const folder of foldersAbove(path)) {
      this.setLocal(folder, { type: 'directory' })
      this.state.setSameFolder(folder)
    }
  }

  /** Records what this client has made of a path on the node. */
  setRemote(path: string, entry: RemoteRecord | null): void {
    for (const touched of this.#remoteScans) touched.add(path)
    this.seeRemote(path, entry)
  }

  /** Records what a scan has found on the node. */
  seeRemote(path: string, entry: RemoteRecord | null): void {
    const former = this.state.remote.get(path)
    if (isSame(former, entry)) return
    for (const { touched } of this.#remoteChanges) touched.add(path)
    this.state.setRemote(path, entry)
    this.touch(path)
    if (former?.type === entry?.type) return
    for (const below of this.local.within(path)) this.dirty.add(below)
  }

  /** Records the folders above a path, which were made on the node together with it. The disk had them. */
  setRemoteFolders(path: string): void {
    for (const folder of foldersAbove(path)) {
      this.setRemote(folder, { type: 'directory' })
      this.state.setSameFolder(folder)
    }
  }

  /**
   * Takes changes from the node, up to a position in its journal.
   *
   * @param scanned the paths that must be scanned
   * @param files the files that need no scan, because the changes tell all of them
   */
  takeRemoteChanges(
    changes: readonly WireChange[],
    position: { readonly cursor: number; readonly changeId?: string },
    scanned: Iterable<string>,
    files: ReadonlyMap<string, RemoteRecord>,
  ): void {
    const paths = [...scanned]
    for (const touched of this.#remoteScans) for (const path of [...paths, ...files.keys()]) touched.add(path)
    const { state } = this
    const toldAt = new Map<string, Told>()
    state.transaction(() => {
      for (const change of changes) {
        for (const [path, outcome] of outcomesOf(change)) {
          for (const { told } of this.#remoteChanges) {
            const outcomes = told.get(path)
            if (outcomes !== undefined && outcomes.push(outcome) > mostTold) outcomes.shift()
          }
          state.confirm(path, outcome)
          toldAt.set(path, outcome)
        }
        if (change.op === 'move') toldAt.set(change.path, 'tree')
      }
      for (const path of paths) state.markDirty(path, toldAt.get(path))
      for (const [path, file] of files) {
        this.seeRemote(path, file)
        for (const folder of foldersAbove(path)) this.seeRemote(folder, { type: 'directory' })
        state.confirm(path, toldAt.get(path) as Outcome)
      }
      state.advance(position)
    })
  }

  /**
   * Records what a scan has found at a path of the node, and whether the journal has reported it.
   *
   * @param scanned the path of the scan; the path itself, or a folder above it
   */
  recordScan(scanned: string, path: string, entry: RemoteEntry | null): void {
    const isNew = !isOutcome(this.state.remote.get(path) ?? null, entry)
    this.seeRemote(path, entry)
    // There is nothing to doubt where neither side has anything. A hostile node could name such paths without end.
    const isAny = entry !== null || this.state.common.get(path) !== undefined
    if (isNew && isAny && !this.#isTold(scanned, path, entry)) this.state.noteSeen(path)
    else if (this.isHeldBack) this.state.trust(path, entry)
    else this.state.confirm(path, entry)
  }

  /** Begins a scan of the disk. */
  beginLocalScan(): Scan {
    return beginScan(this.#localScans)
  }

  /** Begins a scan of the node. */
  beginRemoteScan(): Scan {
    return beginScan(this.#remoteScans)
  }

  /** Begins to change paths of the node. What scans find there meanwhile counts as a change. */
  beginRemoteChange(paths: readonly string[]): RemoteChange {
    const told = new Map<string, Outcome[]>(paths.map((path) => [path, []]))
    const change = { touched: new Set<string>(), told }
    this.#remoteChanges.add(change)
    return {
      isTouched: (path) => change.touched.has(path),
      toldOf: (path) => change.told.get(path) ?? [],
      [Symbol.dispose]: () => {
        this.#remoteChanges.delete(change)
      },
    }
  }

  /** Whether a step at a path would meet one that is being made. */
  isBusy(path: string): boolean {
    for (const other of this.busy) if (isWithin(path, other) || isWithin(other, path)) return true
    return false
  }

  /** Whether a name is free on both sides. */
  isTaken(path: string): boolean {
    const { common, remote } = this.state
    return (
      this.#localPathsOf(this.#keyOf(path)).length > 0 ||
      remote.get(path) !== undefined ||
      common.get(path) !== undefined
    )
  }

  /** Adds the paths to `todo` that waited for the paths below them. Returns whether there were any. */
  wake(): boolean {
    const ready = [...this.#waitingForContent].filter((path) => !this.#isOpenBelow(path))
    for (const path of ready) {
      this.#waitingForContent.delete(path)
      this.dirty.add(path)
    }
    return ready.length > 0
  }

  /** The next step for a path, as far as it is possible now. */
  stepFor(path: string): Step {
    const step = this.#reconciled(path)
    const { local, state } = this
    switch (step.do) {
      case 'upload':
      case 'makeRemoteFolder':
        return isBelowFile(path, state.remote) ? nothing : step
      case 'download':
      case 'makeLocalFolder':
        return isBelowFile(path, local) || !this.#fits(path) ? nothing : step
      default:
        return step
    }
  }

  #reconciled(path: string): Step {
    const local = this.local.get(path)
    const remote = this.state.remote.get(path)
    const common = this.state.common.get(path)
    if (this.#isLeftAlone(path, local, remote) || !isSyncPath(path)) return nothing
    const differ = local !== undefined && remote !== undefined && local.type !== remote.type
    const isOpenBelow = differ && this.#isOpenBelow(path)
    if (isOpenBelow) this.#waitingForContent.add(path)
    return reconcile({
      common: common === undefined ? null : { ...common, isStale: this.state.isStale(path, common) },
      local: this.#localState(path, local, common),
      remote: this.#remoteState(path, remote),
      unansweredUploads: this.state.unansweredUploads.get(path) ?? noUploads,
      isOpenBelow,
    })
  }

  #isLeftAlone(path: string, local: LocalRecord | undefined, remote: RemoteRecord | undefined): boolean {
    for (const each of [...foldersAbove(path), path]) {
      const entry = this.local.get(each)
      if (entry?.type !== 'other') continue
      this.problems.set(each, entry.reason)
      return true
    }
    const folder = local?.type === 'directory' || (local === undefined && remote?.type === 'directory')
    return this.ignores(path, folder)
  }

  #localState(
    path: string,
    local: LocalRecord | undefined,
    common: CommonRecord | undefined,
  ): LocalState | null {
    if (local === undefined || local.type === 'other') return null
    if (local.type === 'directory') return { type: 'directory', isEmpty: this.local.isEmpty(path) }
    const isCommon = common?.type === 'file' && common.identity !== '' && common.identity === local.identity
    const sha256 = isCommon ? common.sha256 : (local.sha256 ?? null)
    return { type: 'file', isCommon, sha256, modified: local.modified }
  }

  #remoteState(path: string, remote: RemoteRecord | undefined): RemoteState | null {
    if (remote === undefined) return null
    if (remote.type === 'directory') return { type: 'directory', isEmpty: this.state.remote.isEmpty(path) }
    const { revision, modified, sha256 = null } = remote
    return { type: 'file', revision, modified, sha256 }
  }

  #isTold(scanned: string, path: string, entry: RemoteEntry | null): boolean {
    const { dirtyRemote } = this.state
    const [above, told] = [dirtyRemote.get(scanned), dirtyRemote.get(path)]
    if (above === 'tree' || (above === null && entry === null)) return true
    return told === 'tree' || (told !== undefined && isOutcome(told, entry))
  }

  #isOpenBelow(path: string): boolean {
    const { dirty, removals, retryLater, busy, dirtyLocal } = this
    for (const open of [dirty, removals, retryLater, busy, dirtyLocal, this.state.dirtyRemote]) {
      for (const each of open.keys()) if (each !== path && isWithin(each, path)) return true
    }
    return false
  }

  /** Whether the disk can have a path. */
  #fits(path: string): boolean {
    for (const each of [...foldersAbove(path), path]) {
      const unfit = this.#disk.unfitName(nameOf(each))
      const key = this.#keyOf(each)
      const other = this.#localPathsOf(key).find((known) => known !== each)
      if (unfit === null && other === undefined) continue
      this.problems.set(path, unfit ?? `This disk already has "${other}" under that name.`)
      this.#waitingForName.set(key, (this.#waitingForName.get(key) ?? new Set()).add(path))
      return false
    }
    return true
  }

  #localPathsOf(key: string): string[] {
    return [...(this.local.get(key) === undefined ? [] : [key]), ...(this.#folded.get(key) ?? [])]
  }

  #keyOf(path: string): string {
    return path
      .split('/')
      .map((name) => this.#disk.nameKey(name))
      .join('/')
  }
}

const nothing: Step = { do: 'nothing' }
const noUploads: ReadonlySet<string> = new Set()

function beginScan(running: Set<Set<string>>): Scan {
  const touched = new Set<string>()
  running.add(touched)
  return {
    isTouched: (path) => touched.has(path),
    [Symbol.dispose]: () => {
      running.delete(touched)
    },
  }
}

/** The outcomes of a change at its paths, as far as they are known. If a file or folder is at a path then, so are the folders above it. */
function outcomesOf({ op, path, source, revision }: WireChange): [path: string, outcome: Outcome][] {
  const outcomes: [path: string, outcome: Outcome][] = []
  if (source !== undefined) outcomes.push([source, null])
  if (op !== 'delete') for (const folder of foldersAbove(path)) outcomes.push([folder, { type: 'directory' }])
  if (op === 'delete') outcomes.push([path, null])
  else if (op === 'mkdir') outcomes.push([path, { type: 'directory' }])
  else if (revision !== undefined) outcomes.push([path, { type: 'file', revision }])
  return outcomes
}

/** Whether a file is where a folder above a path should be. It must be reconciled first. */
function isBelowFile(
  path: string,
  side: { get(path: string): LocalRecord | RemoteRecord | undefined },
): boolean {
  return foldersAbove(path).some((folder) => side.get(folder)?.type === 'file')
}

/** Whether two records are of the same entry. A hash that only one of them has makes no difference in kind. */
function isSame(
  one: LocalRecord | RemoteRecord | undefined,
  other: LocalRecord | RemoteRecord | null,
): boolean {
  if (one === undefined || other === null) return one === undefined && other === null
  if (one.type !== other.type) return false
  if (one.type === 'directory' || other.type === 'directory') return true
  if (one.sha256 !== other.sha256 && other.sha256 !== undefined) return false
  if ('revision' in one && 'revision' in other) return one.revision === other.revision
  return 'identity' in one && 'identity' in other && one.identity === other.identity
}
