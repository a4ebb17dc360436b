import { type Log, withTimeLimit } from '@nodekeep/plugin-sdk'
import { type ChangeIntent, isShown, type PendingIntent } from '../journal/change.ts'
import type { Journal } from '../journal/journal.ts'
import { keptLock } from '../mounts/kept-folder.ts'
import { isWithin } from '../paths/user-path.ts'

/** Milliseconds after which open changes are tried again. */
const retryMs = 30_000

/** Milliseconds for which the start of the node waits for storages. */
export const startMs = 10_000

/** A change without an outcome, and since when it is known to have none. */
interface OpenChange extends PendingIntent {
  readonly since: Date
}

interface ReconciliationServices {
  readonly journal: Journal
  /** Rejects, rather than waiting forever, when the storage does not answer. */
  readonly wasApplied: (intent: ChangeIntent) => Promise<boolean>
  /** Records what a change that was not applied has left above its path. Returns the number of the last row. */
  readonly recordLeft: (intent: ChangeIntent) => Promise<number | null>
  /** The mount on which a change is made. */
  readonly mountOf: (intent: ChangeIntent) => string
  readonly announce: (userUuid: string, seq: number) => void
  readonly log: Log
}

/**
 * Resolves changes without an outcome by the state of the storage: after a crash, and when a storage became unreachable
 * in the middle of a change. An open change hides all later changes of the user from readers of the journal.
 */
export class Reconciliation {
  readonly #services: ReconciliationServices
  readonly #open = new Map<number, OpenChange>()
  #timer: NodeJS.Timeout | null = null
  #isRunning = false
  #stopped = false

  constructor(services: ReconciliationServices) {
    this.#services = services
  }

  /**
   * Resolves the changes that the last run left open, for at most 10 seconds. The rest goes on in the background.
   *
   * @param left the pending changes before the first one of this run
   */
  async start(left: readonly PendingIntent[]): Promise<void> {
    const since = new Date()
    for (const change of left) this.#open.set(change.seq, { ...change, since })
    if (this.#open.size > 0)
      this.#services.log.info({ changes: this.#open.size }, 'Resolving changes that the last run left open.')
    await withTimeLimit(this.#resolveAll(), startMs, 'Storages do not answer.').catch(() => {})
    if (this.#open.size > 0) {
      const message =
        'Changes stay open because their storage does not answer. They are tried again every 30 seconds.'
      this.#services.log.warn({ changes: this.#open.size }, message)
    }
  }

  /** Takes a change to resolve later. */
  readonly postpone = (change: PendingIntent, cause: unknown): void => {
    this.#services.log.warn(
      { err: cause, user: change.userUuid },
      'A change of files stays open in the journal.',
    )
    this.#open.set(change.seq, { ...change, since: new Date() })
    this.#scheduleRetry()
  }

  /**
   * Resolves open changes at the paths of a change that is about to begin, and at the places of what it keeps or puts back. Afterwards the
   * storage shows another state, which would no longer show their outcome.
   *
   * @throws NodekeepError SERVICE_UNAVAILABLE when the storage is unreachable
   */
  readonly resolveBefore = (intent: ChangeIntent): Promise<void> =>
    this.settle(intent.userUuid, lockedBy(intent))

  /**
   * Resolves open changes of a user at paths, or at places of something kept by the paths of their locks. Until then, what is there may still be put
   * back to another path.
   *
   * @throws NodekeepError SERVICE_UNAVAILABLE when the storage is unreachable
   */
  readonly settle = async (userUuid: string, paths: readonly string[]): Promise<void> => {
    for (const change of this.#open.values())
      if (change.userUuid === userUuid && overlap(lockedBy(change), paths)) await this.#resolve(change)
  }

  /** The mount of the first open change of a user, which hides all later ones, and when it stopped answering. */
  stalled(userUuid: string): { readonly mount: string; readonly since: Date } | null {
    const own = [...this.#open.values()].filter(
      (change) => change.userUuid === userUuid && change.staging === undefined,
    )
    const first = own.sort((a, b) => a.seq - b.seq)[0]
    return first === undefined ? null : { mount: this.#services.mountOf(first), since: first.since }
  }

  stop(): void {
    this.#stopped = true
    if (this.#timer !== null) clearTimeout(this.#timer)
  }

  /** Mounts are resolved concurrently, since one may be slow; the changes of each mount in order. */
  async #resolveAll(): Promise<void> {
    this.#isRunning = true
    const mounts = Map.groupBy(this.#open.values(), this.#services.mountOf)
    await Promise.all([...mounts.values()].map((changes) => this.#resolveInOrder(changes)))
    this.#isRunning = false
    this.#scheduleRetry()
  }

  async #resolveInOrder(changes: readonly PendingIntent[]): Promise<void> {
    for (const change of changes) {
      if (this.#stopped) return
      try {
        if (this.#open.has(change.seq)) await this.#resolve(change)
      } catch (error) {
        this.#services.log.debug({ err: error, user: change.userUuid }, 'A change of files is still open.')
      }
    }
  }

  async #resolve(change: PendingIntent): Promise<void> {
    const { journal, wasApplied, recordLeft, announce } = this.#services
    const applied = await wasApplied(change)
    const left = applied ? null : await recordLeft(change)
    await journal.resolve(change.seq, applied ? 'commit' : 'discard')
    if (this.#open.delete(change.seq) && isShown(change)) announce(change.userUuid, left ?? change.seq)
  }

  #scheduleRetry(): void {
    if (this.#open.size === 0 || this.#timer !== null || this.#isRunning || this.#stopped) return
    this.#timer = setTimeout(() => {
      this.#timer = null
      this.#resolveAll()
    }, retryMs).unref()
  }
}

function overlap(some: readonly string[], others: readonly string[]): boolean {
  return some.some((one) => others.some((other) => isWithin(one, other) || isWithin(other, one)))
}

/** The paths of a change, and those of the locks of what it keeps and puts back. */
function lockedBy({ path, source, keptAs, restores }: ChangeIntent): string[] {
  const kept = [keptAs, restores].flatMap((name) => (name === undefined ? [] : [keptLock(name)]))
  return [path, ...(source === undefined ? [] : [source]), ...kept]
}
