import type { Log } from '@nodekeep/plugin-sdk'
import type { ChangeIntent, Journal } from '../journal/journal.ts'
import { isWithin } from '../paths/user-path.ts'
import { inTime, startMs } from './in-time.ts'

/** After so long a change is looked at again whose storage was out of reach. */
const retryMs = 30_000

/** A change that has a number and no end. */
export type PendingRow = ChangeIntent & { readonly seq: number }

export interface ReconciliationParts {
  readonly journal: Journal
  /** Rejects, rather than to wait for ever, when the storage doesn't answer. */
  readonly hasHappened: (intent: ChangeIntent) => Promise<boolean>
  /** The mount on which a change is made. */
  readonly mountOf: (intent: ChangeIntent) => string
  readonly announce: (userUuid: string, seq: number) => void
  readonly log: Log
}

/**
 * Decides on changes that were begun and never came to an end, by what the storage shows: after a crash, and
 * when the storage went out of reach in the middle of one. Until then the journal hides all later changes of the user.
 */
export class Reconciliation {
  readonly #parts: ReconciliationParts
  readonly #open = new Map<number, PendingRow>()
  #timer: NodeJS.Timeout | null = null
  #isDeciding = false
  #stopped = false

  constructor(parts: ReconciliationParts) {
    this.#parts = parts
  }

  /**
   * Decides on what the last run left open. What takes too long goes on afterwards.
   *
   * @param left what was pending before anything of this run
   */
  async start(left: readonly PendingRow[]): Promise<void> {
    for (const row of left) this.#open.set(row.seq, row)
    if (this.#open.size > 0)
      this.#parts.log.info({ changes: this.#open.size }, 'Changes are open since the last run.')
    await inTime(this.#decideAll(), startMs).catch(() => {})
    if (this.#open.size > 0) {
      const message =
        'Changes stay open, since their storage does not answer. They are looked at again every 30 seconds.'
      this.#parts.log.warn({ changes: this.#open.size }, message)
    }
  }

  /** Takes a change to decide on later. */
  readonly postpone = (row: PendingRow, cause: unknown): void => {
    this.#parts.log.warn({ err: cause, user: row.userUuid }, 'A change of files stays open in the journal.')
    this.#open.set(row.seq, row)
    this.#tryLater()
  }

  /**
   * Decides on what is open where a change is about to begin: after it, the storage shows another state, and nobody
   * could tell any more.
   *
   * @throws NodekeepError SERVICE_UNAVAILABLE when the storage is out of reach
   */
  readonly decideBefore = async (intent: ChangeIntent): Promise<void> => {
    for (const row of this.#open.values()) {
      if (row.userUuid === intent.userUuid && atOdds(row, intent)) await this.#decide(row)
    }
  }

  stop(): void {
    this.#stopped = true
    if (this.#timer !== null) clearTimeout(this.#timer)
  }

  /** Mounts side by side, since one of them may be slow; the changes of each in their order. */
  async #decideAll(): Promise<void> {
    this.#isDeciding = true
    const mounts = Map.groupBy(this.#open.values(), this.#parts.mountOf)
    await Promise.all([...mounts.values()].map((rows) => this.#decideInTurn(rows)))
    this.#isDeciding = false
    this.#tryLater()
  }

  async #decideInTurn(rows: readonly PendingRow[]): Promise<void> {
    for (const row of rows) {
      if (this.#stopped) return
      try {
        if (this.#open.has(row.seq)) await this.#decide(row)
      } catch (error) {
        this.#parts.log.debug({ err: error, user: row.userUuid }, 'A change of files is still open.')
      }
    }
  }

  async #decide(row: PendingRow): Promise<void> {
    const { journal, hasHappened, announce } = this.#parts
    const happened = await hasHappened(row)
    await journal.resolve(row.seq, happened ? 'commit' : 'discard')
    if (this.#open.delete(row.seq) && happened) announce(row.userUuid, row.seq)
  }

  #tryLater(): void {
    if (this.#open.size === 0 || this.#timer !== null || this.#isDeciding || this.#stopped) return
    this.#timer = setTimeout(() => {
      this.#timer = null
      this.#decideAll()
    }, retryMs).unref()
  }
}

function atOdds(one: ChangeIntent, other: ChangeIntent): boolean {
  return pathsOf(one).some((a) => pathsOf(other).some((b) => isWithin(a, b) || isWithin(b, a)))
}

function pathsOf({ path, source }: ChangeIntent): string[] {
  return source === undefined ? [path] : [path, source]
}
