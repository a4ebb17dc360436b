import {
  isNodekeepError,
  type Log,
  Mutex,
  type StateStore,
  type StorageBackend,
  type StorageWatch,
} from '@nodekeep/plugin-sdk'
import { type UserPath, userPath } from '../paths/user-path.ts'
import { ExternalScan, type ExternalScanServices } from './external-scan.ts'
import type { TreeIndex } from './tree-index.ts'

const dayMs = 24 * 60 * 60 * 1000

/** Milliseconds for which a user is followed after the last call. */
const followMs = 30 * dayMs

/** Milliseconds for which hints are gathered. */
const gatherMs = 50

/** Milliseconds after which paths with more changes are scanned again. */
const againMs = 250

/** Milliseconds after which a storage that did not answer is tried again. */
const retryMs = 30_000

interface ExternalScansServices extends ExternalScanServices {
  readonly state: Pick<StateStore, 'get' | 'set' | 'delete' | 'entries'>
  readonly openIndex: () => TreeIndex
  readonly log: Pick<Log, 'warn' | 'debug'>
}

/** A user whose files on one mount are followed. */
interface Followed {
  readonly userUuid: string
  readonly mount: UserPath
  scan: ExternalScan | null
  isRunning: boolean
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

/**
 * Scans the files of the users that somebody follows for changes of other programs. Nothing is watched, scanned or stored for
 * other users.
 */
export class ExternalScans {
  readonly #services: ExternalScansServices
  readonly #followed = new Map<string, readonly Followed[]>()
  /** When each user was recorded as followed, in milliseconds since 1970. */
  readonly #recorded = new Map<string, number>()
  readonly #watches = new WeakMap<StorageBackend, Promise<StorageWatch>>()
  /** One page or batch at a time on each mount: they all need the same disk. */
  readonly #turns = new Map<UserPath, Mutex>()
  readonly #running = new Map<Followed, Promise<void>>()
  #index: TreeIndex | null = null
  #isServing = false

  constructor(services: ExternalScansServices) {
    this.#services = services
  }

  /** Continues with the users that were followed before. Their files are scanned in the background. */
  async start(): Promise<void> {
    this.#isServing = true
    for await (const [key] of this.#services.state.entries()) {
      if (key.startsWith(followedKey(''))) this.#begin(key.slice(followedKey('').length))
    }
    for (const userUuid of this.#recorded.keys()) this.#begin(userUuid)
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

  /** Forgets a user. */
  async erase(userUuid: string): Promise<void> {
    const followed = this.#followed.get(userUuid) ?? []
    this.#followed.delete(userUuid)
    for (const { timer, begun } of followed) {
      clearTimeout(timer)
      begun.resolve()
    }
    await Promise.allSettled(followed.map((each) => this.#running.get(each)))
    this.#recorded.delete(userUuid)
    const wasFollowed = await this.#services.state.delete(followedKey(userUuid))
    if (this.#index !== null || wasFollowed) this.#openedIndex().erase(userUuid)
  }

  /** Waits for the scan that runs. The signal has ended it. */
  async stop(): Promise<void> {
    for (const { timer, begun } of [...this.#followed.values()].flat()) {
      clearTimeout(timer)
      begun.resolve()
    }
    await Promise.allSettled(this.#running.values())
    this.#index?.close()
  }

  #begin(userUuid: string): readonly Followed[] {
    const known = this.#followed.get(userUuid)
    if (known !== undefined) return known
    const followed = this.#services.mounts.points.map((mount): Followed => {
      const begun = Promise.withResolvers<void>()
      const idle = { isRunning: false, timer: undefined, runsAt: 0, notBefore: 0, hasFailed: false }
      return { userUuid, mount, scan: null, ...idle, begun }
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
      if (signal.aborted || !this.#isFollowed(followed)) return
      if (followed.scan === null) {
        followed.scan = await this.#scanOf(followed)
        // Changes from now on differ from a complete index, whenever the scan comes to them.
        if (await followed.scan?.hasAll()) followed.begun.resolve()
      }
      await followed.scan?.run()
      dueInMs = followed.scan?.dueInMs ?? null
      followed.hasFailed = false
    } catch (error) {
      if (signal.aborted) return
      this.#logFailure(followed, error)
      dueInMs = retryMs
      followed.notBefore = performance.now() + retryMs
    } finally {
      followed.begun.resolve()
      followed.isRunning = false
      if (dueInMs !== null && this.#isFollowed(followed)) this.#schedule(followed, Math.max(againMs, dueInMs))
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

  /** Returns null for a storage that only the node changes. */
  async #scanOf({ userUuid, mount }: Followed): Promise<ExternalScan | null> {
    const { backend } = this.#services.mounts.locate(userUuid, mount)
    if (backend.watch === undefined) return null
    // The watch begins before the scan, so that nothing is missed between them.
    const { storageId } = await this.#watch(backend, mount)
    const tree = this.#openedIndex().tree(storageId, userUuid)
    const turn = this.#turns.get(mount) ?? new Mutex()
    this.#turns.set(mount, turn)
    return new ExternalScan(this.#services, { userUuid, mount }, tree, turn)
  }

  #watch(backend: StorageBackend, mount: UserPath): Promise<StorageWatch> {
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
      if (followed.scan.hint(path)) this.#schedule(followed, gatherMs)
    }
  }

  #isFollowed(followed: Followed): boolean {
    return this.#followed.get(followed.userUuid)?.includes(followed) === true
  }

  #openedIndex(): TreeIndex {
    this.#index ??= this.#services.openIndex()
    return this.#index
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
