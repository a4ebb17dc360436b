import { longestRevision } from '../protocol/bodies.ts'
import type { ServerMessage, WireChange } from '../protocol/messages.ts'
import { applyStep } from './apply-step.ts'
import type { DeletionLimits } from './deletion-guard.ts'
import { FailedSteps } from './failed-steps.ts'
import { ignoreFile, ignoreRules, readIgnoreFile } from './ignore-rules.ts'
import type { Answer, Clock, Disk, Random, Remote } from './ports.ts'
import type { Step } from './reconcile.ts'
import { RemoteAnswers } from './remote-answers.ts'
import { Replicas } from './replicas.ts'
import { listRemote, scanLocal, scanRemote } from './scan.ts'
import { Scans } from './scans.ts'
import { StepOrder } from './step-order.ts'
import { SyncFailure } from './sync-failure.ts'
import { foldersAbove, isSyncPath, isWithin } from './sync-paths.ts'
import type { RemoteRecord, SyncState } from './sync-state.ts'
import { WaitingForRoom } from './waiting-for-room.ts'

/** Steps that are made at a time. */
const mostSteps = 24

/** Milliseconds between two scans of the whole disk: a watch may lose changes without a word. */
const scanAllEveryMs = 60 * 60_000

/** Milliseconds until a step that was not possible is tried again, and until a lost connection is. Doubled up to the longest. */
const firstPauseMs = 500
const longestPauseMs = 60_000

/** Milliseconds after a removal on the node until paths are tried again that wait for room there. */
const removedPauseMs = 2000

/** A connection that lasts for fewer milliseconds is a failed attempt: a node could send a reset with each. */
const shortConnectionMs = 5000

/** Number of dirty paths of the node, from which on changes are not acknowledged. The node then sends no more of them. */
const mostDirty = 10_000

/** Milliseconds after which a change without an answer does not happen any more. A silent request ends after five minutes. */
const latestChangeMs = 10 * 60_000

interface EngineServices {
  readonly state: SyncState
  readonly disk: Disk
  readonly remote: Remote
  readonly clock: Clock
  readonly random: Random
}

export interface EngineOptions {
  /** Names the device in conflict copies. */
  readonly deviceName: string
  readonly deletionLimits: DeletionLimits
  /** Called with each step that was made. */
  readonly onStep?: (path: string, step: Step['do']) => void
  /** Called after each change of the status. */
  readonly onStatus?: (status: SyncStatus) => void
}

/** The present activity of a client. */
export interface SyncStatus {
  readonly isConnected: boolean
  readonly isPaused: boolean
  /** Both sides are the same, but for what the other fields name. */
  readonly isIdle: boolean
  /** Files and folders that are the same on both sides. */
  readonly synced: number
  /** Paths that are still to be scanned or reconciled. */
  readonly open: number
  /** Deletions that wait for the person, because they are many. `null` if there are none. */
  readonly heldDeletions: number | null
  /** Paths that are not synced, each with the reason. */
  readonly problems: ReadonlyMap<string, string>
  /** The latest reason to wait, such as a node that does not answer. `null` if there is none. */
  readonly trouble: string | null
}

/**
 * Keeps a folder and the files of a user on a node the same. It scans both sides, decides about each path that changed with
 * `reconcile`, and makes the steps. It stops only when its signal aborts, or for something that a person must mend.
 */
export class SyncEngine {
  readonly replicas: Replicas
  readonly #services: EngineServices
  readonly #options: EngineOptions
  readonly #failed: FailedSteps
  readonly #localScans = new Scans()
  readonly #remoteScans = new Scans()
  readonly #remoteAnswers: RemoteAnswers
  readonly #order: StepOrder
  readonly #waitingForRoom: WaitingForRoom
  /** The pauses until paths are tried again that wait for room: a regular one, and one after a removal. */
  readonly #roomPauses = new Set<'regular' | 'removal'>()
  /** Regular pauses in a row. */
  #roomAttempts = 0
  /** Acknowledges the last changes. `null` if that is done. */
  #ack: (() => void) | null = null
  /** Sends the node a message on the connection. `null` if there is none. */
  #say: ((answer: Answer) => void) | null = null
  readonly #end = new AbortController()
  #isConnected = false
  #head = 0
  /** Counts the resets of the node or of its journal. */
  #resets = 0
  #rules: string | null = null
  #isListing = false
  /** Failed listings in a row. */
  #failedLists = 0
  #isScanned = false
  #isPaused = false
  #isRetrying = false
  #isEndingChanges = false
  #trouble: string | null = null
  /** The mount that the node waits for, in a sentence. */
  #waiting: string | null = null
  #running = 0
  /** The time of the last connection, listing or step, in milliseconds of the monotonic clock. */
  #progressAt = 0
  #failure: unknown = null
  #ended = Promise.withResolvers<void>()

  constructor(services: EngineServices, options: EngineOptions) {
    this.#services = services
    this.#options = options
    const { state, clock } = services
    this.#progressAt = clock.elapsed()
    this.replicas = new Replicas(state, services.disk)
    this.#failed = new FailedSteps(state, this.replicas)
    this.#waitingForRoom = new WaitingForRoom(this.replicas)
    this.#remoteAnswers = new RemoteAnswers(services.remote)
    const orderServices = {
      state,
      replicas: this.replicas,
      localScans: this.#localScans,
      remoteScans: this.#remoteScans,
      failed: this.#failed,
      clock,
      after: (ms: number, change: () => void) => this.#after(ms, change),
    }
    this.#order = new StepOrder(orderServices, options.deletionLimits)
  }

  /**
   * Syncs until the signal aborts.
   *
   * @throws SyncFailure `stop` when nothing can be synced before a person does something
   */
  async run(signal: AbortSignal): Promise<void> {
    const end = () => this.#stop()
    signal.addEventListener('abort', end, { once: true })
    if (signal.aborted) end()
    try {
      this.replicas.touchAll()
      this.#endChangesLater()
      const watching = this.#watch()
      const others = [watching, this.#follow(), this.#scanRegularly()]
      for (const other of others) other.catch((error: unknown) => this.#fail(error))
      this.#proceed()
      await this.#ended.promise
      await Promise.allSettled(others)
    } catch (error) {
      this.#fail(error)
    } finally {
      signal.removeEventListener('abort', end)
    }
    if (this.#failure !== null) throw this.#failure
  }

  get status(): SyncStatus {
    const { replicas } = this
    const { dirtyRemote, position, common } = this.#services.state
    const { heldDeletions } = this.#order
    const open =
      replicas.dirty.size +
      replicas.retryLater.size +
      replicas.dirtyLocal.size +
      dirtyRemote.size +
      replicas.removals.size +
      this.#running
    const isConnected = this.#isConnected
    const isWhole = this.#isScanned && this.#services.state.isListed && position?.cursor === this.#head
    return {
      isConnected,
      isPaused: this.#isPaused,
      isIdle: isConnected && isWhole && open === (heldDeletions === null ? 0 : replicas.removals.size),
      synced: common.size,
      open,
      heldDeletions,
      problems: replicas.problems,
      trouble: this.#trouble ?? this.#waiting ?? this.#waitingForRoom.message,
    }
  }

  /**
   * Milliseconds for which all that is left has failed and waits to be tried again, as while the node does not answer. 0 while something
   * runs, and if nothing is left.
   */
  get stalledMs(): number {
    if (this.#running > 0 || this.#isPaused || this.status.isIdle) return 0
    return this.#services.clock.elapsed() - this.#progressAt
  }

  /** Makes no further steps until `resume`. Running ones end. */
  pause(): void {
    this.#isPaused = true
    this.#tell()
  }

  resume(): void {
    this.#isPaused = false
    this.#proceed()
  }

  /** Lets the deletions happen that wait for the person. */
  confirmDeletions(): void {
    this.#order.confirmDeletions()
    this.#proceed()
  }

  /** Scans everything on the disk, and tries again what was not possible. */
  scanAll(): void {
    this.#tryAgain('/')
    this.#hint(['/'])
  }

  #hint(paths: readonly string[]): void {
    for (const path of paths) {
      this.replicas.dirtyLocal.add(path)
      // The rights of a folder may have changed. A watch that has lost changes reports `/`, which says nothing about rights.
      if (path !== '/') this.#tryAgain(path)
    }
    this.#proceed()
  }

  /** Tries steps again that have failed at a path and below it. */
  #tryAgain(path: string): void {
    const { dirty, retryLater } = this.replicas
    for (const each of this.#failed.within(path)) if (!retryLater.has(each)) dirty.add(each)
  }

  /** Notes which paths change on the disk. A scan before the watch could miss what changes in between. */
  async #watch(): Promise<void> {
    const { signal } = this.#end
    await this.#services.disk.watch((paths) => this.#hint(paths), signal)
    if (!signal.aborted) this.scanAll()
  }

  /** Stays connected to the node, and notes which paths changed there. */
  async #follow(): Promise<void> {
    const { state, remote, clock } = this.#services
    const { signal } = this.#end
    for (let attempts = 0; !signal.aborted; attempts += 1) {
      const begun = clock.elapsed()
      const device = state.setting('device')
      const hello = { ...(device !== undefined && { device }), ...state.position }
      try {
        await remote.follow(hello, (message, say) => this.#receive(message, say), signal)
      } catch (error) {
        this.#note(error)
      }
      if (this.#isConnected && clock.elapsed() - begun >= shortConnectionMs) attempts = 0
      this.#isConnected = false
      this.#ack = null
      this.#say = null
      this.#tell()
      await clock.sleep(this.#pauseAfter(attempts), signal)
    }
  }

  #receive(message: ServerMessage, say: (answer: Answer) => void): void {
    const { replicas } = this
    const { state } = this.#services
    if (this.#end.signal.aborted) return
    this.#say = say
    switch (message.type) {
      case 'welcome':
        if (message.device !== null && message.device !== state.setting('device')) {
          this.#resets += 1
          state.beginDevice(message.device)
        }
        this.#head = message.head
        // A node with a new journal sends a reset next. Until then, the state belongs to its former journal.
        if (message.epoch === state.position?.epoch && message.reset !== true) {
          state.doubtUnconfirmed()
          this.#isConnected = true
          this.#tellListing()
        }
        this.#trouble = null
        this.#waiting = null
        replicas.isHeldBack = false
        break
      case 'reset':
        this.#resets += 1
        state.reset({ ...message, cursor: message.head })
        this.#head = message.head
        this.#isConnected = true
        break
      case 'changes': {
        const { paths, files } = this.#toldBy(message.changes)
        if (message.changes.some(({ op }) => op === 'delete')) this.#awaitRoom('removal')
        this.replicas.takeRemoteChanges(message.changes, message, paths, files)
        this.#head = message.head
        // A variable first: MEMORY.md, "Functions on objects".
        const acknowledge = () => say({ type: 'ack', cursor: message.cursor })
        this.#ack = acknowledge
        break
      }
      case 'waiting':
        this.#waiting = message.mount === null ? null : `The node waits for its mount ${message.mount}.`
        replicas.isHeldBack = message.mount !== null
        break
    }
    this.#proceed()
  }

  /** Tells the node that its listing is stored. The connection may have been lost before it was. */
  #tellListing(): void {
    const { isListed, position } = this.#services.state
    if (isListed && position?.listing !== undefined)
      this.#say?.({ type: 'listed', listing: position.listing })
  }

  /** The files that changes tell whole, and the other paths that may have changed since this client last saw them. */
  #toldBy(changes: readonly WireChange[]): {
    readonly paths: ReadonlySet<string>
    readonly files: ReadonlyMap<string, RemoteRecord>
  } {
    const paths = new Set<string>()
    const files = new Map<string, RemoteRecord>()
    for (const change of changes) {
      // A former change does not count any more, also if this client knows the outcome of this one.
      const { path, source } = change
      files.delete(path)
      if (source !== undefined)
        for (const each of files.keys()) if (isWithin(each, source)) files.delete(each)
      const changed = this.#changedPaths(change)
      const file = changed.length === 1 ? this.#toldFile(change) : null
      if (file !== null && !foldersAbove(change.path).some((each) => paths.has(each))) {
        files.set(change.path, file)
        // Former changes of the path do not count any more.
        paths.delete(change.path)
        continue
      }
      for (const path of changed) {
        paths.add(path)
        // The former file is gone, or another one by now.
        for (const each of files.keys()) if (isWithin(each, path)) files.delete(each)
      }
    }
    return { paths, files }
  }

  /** The file that a change tells whole; `null` if its path must be scanned. */
  #toldFile({ op, path, revision = '', size, modified = '', hash }: WireChange): RemoteRecord | null {
    const { remote } = this.#services.state
    const time = Date.parse(modified)
    const isFile = op === 'write' && size !== undefined && size >= 0 && !Number.isNaN(time)
    if (!isFile || revision === '' || revision.length > longestRevision || this.#isOpen(path)) return null
    if (remote.get(path)?.type === 'directory') return null
    const sha256 = hash !== undefined && /^[0-9a-f]{64}$/.test(hash) ? { sha256: hash } : {}
    return { type: 'file', size, modified: time, revision, ...sha256 }
  }

  /** Whether a path is still to be scanned: the answer of a listing or a scan may be older than a change. */
  #isOpen(path: string): boolean {
    const { isListed, dirtyRemote } = this.#services.state
    return !isListed || [...foldersAbove(path), path].some((place) => dirtyRemote.has(place))
  }

  /** The paths of a change that may have changed since this client last saw them. */
  #changedPaths({ path, source, revision }: WireChange): string[] {
    const { remote } = this.#services.state
    const known = remote.get(path)
    const isKnown = known?.type === 'file' && known.revision === revision && !this.#isOpen(path)
    const paths = isKnown ? [] : [path]
    if (source !== undefined && (!isKnown || this.#isOpen(source) || remote.get(source) !== undefined))
      paths.push(source)
    return paths.filter(isSyncPath)
  }

  async #scanRegularly(): Promise<void> {
    const { signal } = this.#end
    while (!signal.aborted) {
      await this.#services.clock.sleep(scanAllEveryMs, signal)
      if (!signal.aborted) this.scanAll()
    }
  }

  #proceed(): void {
    this.#acknowledge()
    try {
      this.#beginWork()
    } catch (error) {
      this.#fail(error)
    }
    if (this.#running === 0 && this.#end.signal.aborted) this.#ended.resolve()
    this.#tell()
  }

  /** Begins as much work as may run at a time. */
  #beginWork(): void {
    while (this.#running < mostSteps && !this.#end.signal.aborted) {
      const work = this.#nextWork()
      if (work === null) break
      this.#running += 1
      work()
        .catch((error: unknown) => this.#fail(error))
        .finally(() => {
          this.#running -= 1
          this.#proceed()
        })
    }
  }

  #acknowledge(): void {
    const ack = this.#ack
    if (ack === null || this.#services.state.dirtyRemote.size >= mostDirty) return
    this.#ack = null
    ack()
  }

  #nextWork(): (() => Promise<void>) | null {
    const { replicas } = this
    const { state } = this.#services
    for (const path of replicas.dirtyLocal) {
      if (!this.#localScans.mayBegin(path)) continue
      replicas.dirtyLocal.delete(path)
      return () => this.#scan(path, this.#localScans, () => this.#scanLocal(path))
    }
    if (!this.#isConnected || this.#isListing) return null
    if (!state.isListed) return this.#running === 0 ? () => this.#list() : null
    for (const path of state.dirtyRemote.keys()) {
      if (!this.#remoteScans.mayBegin(path)) continue
      return () => this.#scan(path, this.#remoteScans, () => this.#scanRemote(path))
    }
    if (!this.#isScanned || this.#isPaused) return null
    const next = this.#order.next()
    return next && (() => this.#make(next.path, next.step))
  }

  async #make(path: string, step: Step): Promise<void> {
    const { replicas } = this
    replicas.busy.add(path)
    try {
      if (takesLocalAway(replicas, path, step)) {
        await this.#remoteAnswers.confirm()
        if (replicas.stepFor(path).do !== step.do) {
          replicas.dirty.add(path)
          return
        }
      }
      const { deviceName } = this.#options
      await applyStep({ ...this.#services, replicas, deviceName }, path, step)
      this.#failed.forget(path)
      replicas.retryLater.delete(path)
      if (this.#waitingForRoom.delete(path)) this.#waitingForRoom.tryAgain(mostSteps)
      if (step.do === 'removeRemote') this.#awaitRoom('removal')
      this.#noteProgress()
      this.#options.onStep?.(path, step.do)
      // One situation may take several steps.
      replicas.dirty.add(path)
      if (path === ignoreFile) replicas.dirtyLocal.add('/')
    } catch (error) {
      this.#postpone(path, step, error)
    } finally {
      replicas.busy.delete(path)
    }
  }

  /** Scans again what was not as expected, at once for the first time. */
  #postpone(path: string, step: Step, error: unknown): void {
    const { replicas } = this
    this.#note(error)
    const { kind } = error as SyncFailure
    if (kind === 'unavailable') this.#endChangesLater()
    const { attempts, waitsForChange } = this.#failed.add(path, step, error as SyncFailure)
    if (waitsForChange) {
      this.#waitingForRoom.delete(path)
      replicas.retryLater.delete(path)
      return
    }
    if (kind === 'full') {
      this.#waitingForRoom.add(path, (error as SyncFailure).message)
      this.#awaitRoom('regular')
      return
    }
    this.#waitingForRoom.delete(path)
    replicas.dirtyLocal.add(path)
    this.#tryTo(() => this.#services.state.markDirty(path))
    if (kind === 'changed' && attempts < 3) {
      replicas.dirty.add(path)
    } else {
      replicas.retryLater.add(path)
      this.#retry(attempts)
    }
  }

  /** Scans again, when no request can be under way any more, the paths of the changes that have no answer now. */
  #endChangesLater(): void {
    const { state } = this.#services
    const { asks } = state
    if (this.#isEndingChanges || state.askedUntil(asks).length === 0) return
    this.#isEndingChanges = true
    this.#after(latestChangeMs, () => {
      this.#isEndingChanges = false
      for (const path of state.askedUntil(asks)) {
        if (!this.replicas.isBusy(path)) this.#tryTo(() => state.endChange(path))
      }
      this.#endChangesLater()
    })
  }

  #scan(path: string, scans: Scans, scan: () => Promise<void>): Promise<void> {
    return scans.run(path, scan, (error) => {
      this.#note(error)
      const { kind, message } = error as SyncFailure
      if (scans === this.#localScans) {
        this.replicas.dirtyLocal.add(path)
        if (kind === 'refused') this.#trouble = message
      } else if (kind === 'refused') this.#tryTo(() => this.#services.state.markClean(path))
      this.#postponeScan(path, scans)
    })
  }

  #postponeScan(path: string, scans: Scans): void {
    this.#after(this.#pauseAfter(scans.postpone(path)), () => scans.resume(path))
  }

  async #scanLocal(path: string): Promise<void> {
    const { replicas } = this
    if (path === '/') await this.#loadRules()
    await scanLocal(replicas, this.#services.disk, path)
    if (path === '/') this.#isScanned = true
    if (path === ignoreFile) replicas.dirtyLocal.add('/')
  }

  async #scanRemote(path: string): Promise<void> {
    await scanRemote(this.replicas, this.#services.remote, path)
    this.#remoteAnswers.add()
  }

  async #list(): Promise<void> {
    const { state, remote } = this.#services
    const { replicas } = this
    this.#isListing = true
    try {
      const resets = this.#resets
      const listing = await listRemote(remote)
      // The listing may be older than where the changes begin now.
      if (this.#resets === resets) {
        this.#remoteAnswers.add()
        state.setListing(listing)
        this.#tellListing()
        this.#failedLists = 0
        this.#noteProgress()
        replicas.touchAll()
      }
      this.#isListing = false
    } catch (error) {
      this.#note(error)
      this.#after(this.#pauseAfter(this.#failedLists), () => {
        this.#isListing = false
      })
      this.#failedLists += 1
    }
  }

  /** Reads the rules about paths that are left alone. What they name is no longer synced: it counts as deleted nowhere. */
  async #loadRules(): Promise<void> {
    const { replicas } = this
    const { state, disk } = this.#services
    const text = await readIgnoreFile(disk)
    if (text === this.#rules) return
    this.#rules = text
    replicas.ignores = ignoreRules(text)
    for (const path of state.common.within('/')) {
      if (replicas.ignores(path, state.common.get(path)?.type === 'directory')) state.setCommon(path, null)
    }
    replicas.touchAll()
  }

  /** Tries again later what was not possible. */
  #retry(attempts: number): void {
    if (this.#isRetrying) return
    this.#isRetrying = true
    this.#after(this.#pauseAfter(attempts), () => {
      this.#isRetrying = false
      for (const path of this.replicas.retryLater) {
        if (this.#waitingForRoom.has(path)) continue
        this.replicas.retryLater.delete(path)
        this.replicas.dirty.add(path)
      }
    })
  }

  /** Tries some of the paths that wait for room again after a pause, and goes on until none waits. */
  #awaitRoom(pause: 'regular' | 'removal'): void {
    if (this.#waitingForRoom.message === null) this.#roomAttempts = 0
    if (this.#waitingForRoom.message === null || this.#roomPauses.has(pause)) return
    this.#roomPauses.add(pause)
    const ms = pause === 'removal' ? removedPauseMs : this.#pauseAfter(this.#roomAttempts)
    if (pause === 'regular') this.#roomAttempts += 1
    this.#after(ms, () => {
      this.#roomPauses.delete(pause)
      this.#waitingForRoom.tryAgain(mostSteps)
      this.#awaitRoom('regular')
    })
  }

  /** Makes a change after a pause, and begins the work that it allows. */
  #after(ms: number, change: () => void): void {
    this.#services.clock
      .sleep(ms, this.#end.signal)
      .then(() => {
        change()
        this.#proceed()
      })
      .catch((error: unknown) => this.#fail(error))
  }

  /** Milliseconds. The random part keeps many clients from reconnecting at one time. */
  #pauseAfter(attempts: number): number {
    const pause = Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(attempts, 10))
    return pause * (0.5 + this.#services.random() / 2)
  }

  #noteProgress(): void {
    this.#trouble = null
    this.#progressAt = this.#services.clock.elapsed()
  }

  /** Takes note of an expected failure. Others are faults of the program, and end the engine. */
  #note(error: unknown): void {
    if (!(error instanceof SyncFailure) || error.kind === 'stop') throw error
    if (error.kind === 'unavailable') this.#trouble = error.message
  }

  /** Changes the state. On a full disk it stays as it is: the failure comes again at the next attempt. */
  #tryTo(change: () => void): void {
    try {
      change()
    } catch (error) {
      this.#note(error)
    }
  }

  #fail(error: unknown): void {
    this.#failure ??= error
    this.#stop()
  }

  #stop(): void {
    this.#end.abort()
    // A node may never answer. What was cut off is found out at the next start, as after a power failure.
    this.#services.remote.stop()
    if (this.#running === 0) this.#ended.resolve()
  }

  #tell(): void {
    if (this.#options.onStatus) this.#options.onStatus(this.status)
  }
}

/** Whether a step takes something from the disk because the node has removed or replaced it. */
function takesLocalAway(replicas: Replicas, path: string, { do: what }: Step): boolean {
  return what === 'removeLocal' || (what === 'download' && replicas.local.get(path) !== undefined)
}
