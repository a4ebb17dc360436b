import {
  isNodekeepError,
  type Log,
  Mutex,
  type StateStore,
  type StorageBackend,
  type UserDirectory,
} from '@nodekeep/plugin-sdk'
import { withStorageLimit } from '../mounts/storage-limit.ts'
import { type UserPath, userPath } from '../paths/user-path.ts'
import { ExternalScan, type ExternalScanServices, type ScannedFiles } from './external-scan.ts'
import { IndexTree } from './index-tree.ts'

const dayMs = 24 * 60 * 60 * 1000

/** Milliseconds for which a user is followed after the last call. */
const followMs = 30 * dayMs

/** Milliseconds between two times at which the files of users are compared that nobody follows. */
const compareMs = dayMs

/** Milliseconds between two looks for such users. */
const lookMs = 60 * 60 * 1000

/** Milliseconds for which hints are gathered. */
const gatherMs = 50

/** Milliseconds after which paths with more changes are scanned again. */
const againMs = 250

/** Milliseconds after which a storage that did not answer is tried again. */
const retryMs = 30_000

interface ExternalScansServices extends ExternalScanServices {
  readonly users: Pick<UserDirectory, 'get' | 'list'>
  readonly state: Pick<StateStore, 'get' | 'set' | 'delete' | 'entries'>
  readonly log: Pick<Log, 'warn' | 'debug'>
  /** Called when files of a followed user were compared, so that the index may have more of them. */
  readonly onCompared: (userUuid: string) => void
}

/** A user whose files on one mount are followed. */
interface Followed {
  readonly userUuid: string
  readonly mount: UserPath
  scan: ExternalScan | null
  /** The stored files that the scan compares. */
  storageId: string
  isRunning: boolean
  /** Whether a hint came since the last run began. The storage may have other files since that run asked for their id. */
  isHinted: boolean
  timer: NodeJS.Timeout | undefined
  /** When the timer ends, in milliseconds of `performance.now()`. */
  runsAt: number
  /** The next run does not begin earlier: the storage did not answer. */
  notBefore: number
  /** Whether the last run failed. */
  hasFailed: boolean
  /** Resolves when nothing is missed any more: the index was complete, or the first run has ended. */
  readonly begun: PromiseWithResolvers<void>
}

interface ComparedUser {
  readonly userUuid: string
  readonly control: AbortController
  readonly ended: Promise<void>
}

/**
 * Compares the files of users with the index. The files of those that somebody follows are watched, and compared where the storage hints
 * at a change. Those of others are compared once a day. An index that is not complete is completed for everybody.
 */
export class ExternalScans {
  readonly #services: ExternalScansServices
  readonly #followed = new Map<string, readonly Followed[]>()
  /** When each user was recorded as followed, in milliseconds since 1970. */
  readonly #recorded = new Map<string, number>()
  readonly #watches = new WeakMap<StorageBackend, Promise<void>>()
  /** One page or batch at a time on each mount: they all need the same disk. */
  readonly #turns = new Map<UserPath, Mutex>()
  readonly #running = new Map<Followed, Promise<void>>()
  /** The ids of the stored files that backends had last, by mount. */
  readonly #storageIds = new Map<UserPath, string>()
  /** Users whose index is to be completed, and those whose index is complete. */
  readonly #waiting = new Set<string>()
  /** Users whose files it has seen to since the start. */
  readonly #seen = new Set<string>()
  readonly #completed = new Set<string>()
  #others: Promise<void> = Promise.resolve()
  /** The user among them whose files are compared now. */
  #compared: ComparedUser | null = null
  #looking: NodeJS.Timeout | undefined
  #isServing = false

  constructor(services: ExternalScansServices) {
    this.#services = services
  }

  /**
   * Asks storages whose files they have: a disk may not be mounted. A storage that does not answer in 3 seconds has those that it had
   * before. A server that is compared from time to time is asked then, so that a node which does not use it asks nothing.
   */
  async identify(): Promise<void> {
    const { mounts, signal } = this.#services
    const asked = mounts.backends.filter(
      ({ backend }) => backend?.plainFolder !== undefined || backend?.watch === undefined,
    )
    await Promise.allSettled(asked.map(({ point }) => withStorageLimit(this.#identify(point, signal))))
  }

  /** Asks the storage of one mount whose files it has. */
  async identifyAt(mount: UserPath): Promise<void> {
    await withStorageLimit(this.#identify(mount, this.#services.signal))
  }

  /** Continues with the users that were followed before, and looks after the others. All in the background. */
  async start(): Promise<void> {
    this.#isServing = true
    await this.#forgetUnknown()
    for await (const [key] of this.#services.state.entries()) {
      if (key.startsWith(followedKey(''))) this.#begin(key.slice(followedKey('').length))
    }
    for (const userUuid of this.#recorded.keys()) this.#begin(userUuid)
    this.#look()
    this.#looking = setInterval(() => this.#look(), lookMs).unref()
  }

  /** Removes the entries of users that a former release erased, after a rollback of an update: it does not know the index. */
  async #forgetUnknown(): Promise<void> {
    const { journal, users } = this.#services
    for (const userUuid of (await journal.entriesOf('')).users()) {
      if ((await users.get(userUuid)) !== null) continue
      const hasChanges =
        (await journal.head(userUuid)) > 0 || (await journal.pendingPaths(userUuid)).length > 0
      if (!hasChanges) await journal.erase(userUuid)
    }
  }

  /** Follows a user. Resolves when no change is missed any more on the mounts that answer. */
  async follow(userUuid: string): Promise<void> {
    const now = Date.now()
    if (now - (this.#recorded.get(userUuid) ?? 0) > dayMs) {
      this.#recorded.set(userUuid, now)
      await this.#services.state.set(followedKey(userUuid), now, followMs).catch((error) => {
        this.#recorded.delete(userUuid)
        this.#services.log.warn(
          { err: error, user: userUuid },
          'Changes of other programs are followed until the node stops.',
        )
      })
    }
    if (!this.#isServing || this.#services.signal.aborted) return
    await Promise.all(this.#begin(userUuid).map(({ begun }) => begun.promise))
  }

  /** Whether somebody follows a user. */
  isFollowed(userUuid: string): boolean {
    return this.#followed.has(userUuid)
  }

  /** Takes note that a user has files, or that somebody needs the index of the user. That of a new user is completed at once. */
  notice(userUuid: string): void {
    if (this.#isServing && !this.#completed.has(userUuid) && !this.#followed.has(userUuid))
      this.#compareLater(userUuid)
  }

  /** The users whose index is not complete yet. */
  async incomplete(): Promise<string[]> {
    const { journal, mounts } = this.#services
    const storages = mounts.points.map((mount) => mounts.storageAt(mount))
    const reader = await journal.entriesOf('')
    return [...this.#seen].filter(
      (user) =>
        !this.#completed.has(user) && !storages.every((storage) => reader.tree(user, storage)?.isComplete),
    )
  }

  /** Forgets a user. */
  async erase(userUuid: string): Promise<void> {
    const followed = this.#followed.get(userUuid) ?? []
    this.#followed.delete(userUuid)
    this.#waiting.delete(userUuid)
    for (const { timer, begun } of followed) {
      clearTimeout(timer)
      begun.resolve()
    }
    // A scan that goes on would bring back names, and record the erased files as deleted.
    const compared = this.#compared?.userUuid === userUuid ? this.#compared : null
    compared?.control.abort()
    await Promise.allSettled([...followed.map((each) => this.#running.get(each)), compared?.ended])
    for (const { scan } of followed) scan?.[Symbol.dispose]()
    this.#recorded.delete(userUuid)
    this.#completed.delete(userUuid)
    this.#seen.delete(userUuid)
    await this.#services.state.delete(followedKey(userUuid))
  }

  /** Waits for the scans that run. The signal has ended them. */
  async stop(): Promise<void> {
    clearInterval(this.#looking)
    for (const { timer, begun } of [...this.#followed.values()].flat()) {
      clearTimeout(timer)
      begun.resolve()
    }
    await Promise.allSettled([...this.#running.values(), this.#others])
  }

  #begin(userUuid: string): readonly Followed[] {
    const known = this.#followed.get(userUuid)
    if (known !== undefined) return known
    this.#seen.add(userUuid)
    const followed = this.#services.mounts.points.map((mount): Followed => {
      const begun = Promise.withResolvers<void>()
      const idle = {
        isRunning: false,
        isHinted: false,
        timer: undefined,
        runsAt: 0,
        notBefore: 0,
        hasFailed: false,
      }
      return { userUuid, mount, scan: null, storageId: '', ...idle, begun }
    })
    this.#followed.set(userUuid, followed)
    for (const each of followed) this.#schedule(each, 0)
    return followed
  }

  /** Schedules the next run, unless one comes sooner. */
  #schedule(followed: Followed, ms: number): void {
    if (this.#services.signal.aborted || followed.isRunning) return
    const now = performance.now()
    const runsAt = Math.max(now + ms, followed.notBefore)
    if (followed.timer !== undefined && followed.runsAt <= runsAt) return
    clearTimeout(followed.timer)
    followed.runsAt = runsAt
    followed.timer = setTimeout(() => {
      followed.timer = undefined
      followed.isRunning = true
      const running = this.#run(followed).finally(() => {
        if (this.#running.get(followed) === running) this.#running.delete(followed)
      })
      this.#running.set(followed, running)
    }, runsAt - now).unref()
  }

  async #run(followed: Followed): Promise<void> {
    const { signal } = this.#services
    let dueInMs: number | null = null
    try {
      if (signal.aborted || !this.#isCurrent(followed)) return
      followed.isHinted = false
      const scan = await this.#scanOf(followed)
      // Changes from now on differ from a complete index, whenever the scan comes to them.
      if (scan?.hasAll) followed.begun.resolve()
      await scan?.run()
      dueInMs = followed.isHinted ? 0 : (scan?.dueInMs ?? null)
      followed.hasFailed = false
      this.#services.onCompared(followed.userUuid)
    } catch (error) {
      if (signal.aborted) return
      this.#logFailure(followed, error)
      dueInMs = retryMs
      followed.notBefore = performance.now() + retryMs
    } finally {
      followed.begun.resolve()
      followed.isRunning = false
      if (dueInMs !== null && this.#isCurrent(followed)) this.#schedule(followed, Math.max(againMs, dueInMs))
    }
  }

  /** The first of several failures is a warning, unless the mount does not answer: that has a line of its own. */
  #logFailure(followed: Followed, error: unknown): void {
    const { log } = this.#services
    const isKnown = followed.hasFailed || (isNodekeepError(error) && error.logged)
    followed.hasFailed = true
    log[isKnown ? 'debug' : 'warn'](
      { err: error, user: followed.userUuid, mount: followed.mount },
      'Changes of other programs cannot be recorded now. The node tries again every 30 seconds.',
    )
  }

  /** Returns null for a storage that only the node changes, when the index has all of it. */
  async #scanOf(followed: Followed): Promise<ExternalScan | null> {
    const { userUuid, mount } = followed
    const { backend } = this.#services.mounts.locate(userUuid, mount)
    // The watch begins before the scan, so that nothing is missed between them.
    if (backend.watch !== undefined) await this.#watch(backend, mount)
    const storageId = await this.#identify(mount, this.#services.signal)
    if (followed.scan !== null && followed.storageId === storageId) return followed.scan
    followed.scan?.[Symbol.dispose]()
    const tree = await this.#treeOf(userUuid, mount)
    followed.storageId = storageId
    const areWatched = backend.watch !== undefined
    followed.scan = !areWatched && tree.isComplete ? null : this.#scan({ userUuid, mount, areWatched }, tree)
    return followed.scan
  }

  #treeOf(userUuid: string, mount: UserPath): Promise<IndexTree> {
    const { journal, mounts } = this.#services
    return IndexTree.open(journal, { userUuid, mount, storage: mounts.storageAt(mount) })
  }

  #scan(files: ScannedFiles, tree: IndexTree, signal = this.#services.signal): ExternalScan {
    const turn = this.#turns.get(files.mount) ?? new Mutex()
    this.#turns.set(files.mount, turn)
    return new ExternalScan({ ...this.#services, signal }, files, tree, turn)
  }

  /** Asks a storage whose files it has, and lets the index follow it. */
  async #identify(mount: UserPath, signal: AbortSignal): Promise<string> {
    const { mounts, journal } = this.#services
    // A storage that does not answer now is no outage that a user has met.
    const backend = mounts.backends.find(({ point }) => point === mount)?.backend
    if (!backend) throw new Error(`No plugin provides the storage of "${mount}".`)
    const storageId = (await backend.storageId?.(signal)) ?? ''
    if (storageId !== this.#storageIds.get(mount)) {
      await journal.index({ kind: 'set-storage', name: mounts.storageAt(mount), storageId })
      this.#storageIds.set(mount, storageId)
      this.#completed.clear()
    }
    return storageId
  }

  #watch(backend: StorageBackend, mount: UserPath): Promise<void> {
    const known = this.#watches.get(backend)
    if (known !== undefined) return known
    const listener = (path: string) => this.#hint(mount, path)
    const watch = (backend as Required<StorageBackend>).watch(listener, this.#services.signal)
    this.#watches.set(backend, watch)
    watch.catch(() => this.#watches.delete(backend))
    return watch
  }

  /** @param backendPath begins with the folder of a user, unless everything is meant */
  #hint(mount: UserPath, backendPath: string): void {
    const [, user = '', ...rest] = backendPath.split('/')
    const users = user === '' ? [...this.#followed.keys()] : [user]
    for (const userUuid of users) {
      const followed = this.#followed.get(userUuid)?.find((each) => each.mount === mount)
      if (followed?.scan === null || followed === undefined) continue
      const path = rest.length === 0 ? mount : usablePath(`${mount === '/' ? '' : mount}/${rest.join('/')}`)
      if (path === null) continue
      if (!followed.scan.hint(path)) continue
      followed.isHinted = true
      this.#schedule(followed, gatherMs)
    }
  }

  #isCurrent(followed: Followed): boolean {
    return this.#followed.get(followed.userUuid)?.includes(followed) === true
  }

  /** Compares the files of all users that nobody follows, where it is time. */
  async #look(): Promise<void> {
    try {
      for await (const { uuid } of this.#services.users.list()) this.#compareLater(uuid)
    } catch (error) {
      this.#services.log.debug({ err: error }, 'The users cannot be listed now.')
    }
  }

  /** One user after the other: nobody waits for them. */
  #compareLater(userUuid: string): void {
    if (this.#waiting.has(userUuid)) return
    this.#waiting.add(userUuid)
    this.#seen.add(userUuid)
    this.#others = this.#others.then(async () => {
      const control = new AbortController()
      const ended = this.#compareUser(userUuid, AbortSignal.any([this.#services.signal, control.signal]))
      this.#compared = { userUuid, control, ended }
      await ended
      this.#compared = null
    })
  }

  async #compareUser(userUuid: string, signal: AbortSignal): Promise<void> {
    const { mounts, log } = this.#services
    let isComplete = true
    for (const mount of mounts.points) {
      if (signal.aborted || !this.#waiting.has(userUuid) || this.#followed.has(userUuid)) break
      const isMountComplete = await this.#compare(userUuid, mount, signal).catch((error) => {
        if (!signal.aborted)
          log.debug({ err: error, user: userUuid, mount }, 'The files of a user cannot be compared now.')
        return false
      })
      // Other mounts are compared although this one is out of reach.
      isComplete &&= isMountComplete
    }
    if (this.#waiting.delete(userUuid) && isComplete) this.#completed.add(userUuid)
  }

  /** @returns whether the index of the mount is complete */
  async #compare(userUuid: string, mount: UserPath, signal: AbortSignal): Promise<boolean> {
    const { mounts } = this.#services
    const { backend } = mounts.locate(userUuid, mount)
    const isFresh = ({ isComplete, comparedAt }: IndexTree) => {
      // A clock that was set back makes the time since then negative.
      const sinceMs = Date.now() - comparedAt
      return isComplete && (backend.watch === undefined || (sinceMs >= 0 && sinceMs <= compareMs))
    }
    if (isFresh(await this.#treeOf(userUuid, mount))) return true
    await this.#identify(mount, signal)
    const tree = await this.#treeOf(userUuid, mount)
    if (isFresh(tree)) return true
    using scan = this.#scan({ userUuid, mount, areWatched: false }, tree, signal)
    for (let runs = 0; runs < 5 && scan.dueInMs === 0; runs += 1) await scan.run()
    return tree.isComplete
  }
}

function followedKey(userUuid: string): string {
  return `followed:${userUuid}`
}

/** Returns null for a path that no request can name. */
function usablePath(path: string): UserPath | null {
  try {
    return userPath(path)
  } catch {
    return null
  }
}
