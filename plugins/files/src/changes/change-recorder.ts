import type { ChangeFacts } from '../entries/entry-statements.ts'
import { type ChangeIntent, isShown, type PendingIntent } from '../journal/change.ts'
import type { Journal, PendingChange } from '../journal/journal.ts'
import type { RunningChanges } from '../journal/running-changes.ts'

interface RecorderServices {
  readonly journal: Journal
  readonly running: RunningChanges
  /** Asks the storage whether a change was applied. */
  readonly wasApplied: (intent: ChangeIntent) => Promise<boolean>
  /** Records the folders that a change has left above its path. Returns the number of the last row. */
  readonly recordLeft: (intent: ChangeIntent) => Promise<number | null>
  /** Resolves open changes at the paths of a change that is about to begin. */
  readonly resolveBefore: (intent: ChangeIntent) => Promise<void>
  /** Resolves open changes of a user at the paths of locks. */
  readonly settle: (userUuid: string, paths: readonly string[]) => Promise<void>
  /** Called when readers may see something new: a change was committed, or no longer holds others back. */
  readonly announce: (userUuid: string, seq: number) => void
  /** Takes a change whose outcome could not be found out or written, to try again later. */
  readonly postpone: (change: PendingIntent, cause: unknown) => void
}

/** A change whose intent is in the journal. */
export interface BegunChange {
  /**
   * Records that the change was applied. Readers of the journal see it from now on.
   *
   * @returns when it is written, or postponed: what is placed or restored takes steps, in which its path must stay locked
   */
  commit(facts?: ChangeFacts): Promise<void>
  /** Asks the storage for the outcome after a failed step, which may have failed after it took effect. */
  resolveByStorage(failure: unknown): Promise<void>
}

/** Records changes in the journal: first the intent, then the outcome. */
export class ChangeRecorder {
  readonly #services: RecorderServices

  constructor(services: RecorderServices) {
    this.#services = services
  }

  /**
   * Sees to it that what the storage shows at locked paths is the outcome of all changes before.
   *
   * @throws NodekeepError SERVICE_UNAVAILABLE if an outcome cannot be found out now
   */
  settle(userUuid: string, paths: readonly string[]): Promise<void> {
    return this.#services.settle(userUuid, paths)
  }

  /** Records an intent durably. */
  async begin(intent: ChangeIntent): Promise<BegunChange> {
    const { running } = this.#services
    running.begin(intent)
    let change: PendingChange
    try {
      await this.#services.resolveBefore(intent)
      change = await this.#services.journal.begin(intent)
    } catch (error) {
      running.end(intent)
      throw error
    }
    return {
      commit: (facts) => this.#commit(intent, change, facts),
      resolveByStorage: (failure) => this.#resolveByStorage(intent, change, failure),
    }
  }

  /** Makes a change in one step of the storage, and records the intent before and the outcome after it. */
  async record<T>(intent: ChangeIntent, step: () => Promise<T>): Promise<T> {
    const change = await this.begin(intent)
    let result: T
    try {
      result = await step()
    } catch (error) {
      await change.resolveByStorage(error)
      throw error
    }
    const written = change.commit()
    if (intent.staging === 'place' || intent.staging === 'replace') await written
    return result
  }

  #commit(intent: ChangeIntent, change: PendingChange, facts?: ChangeFacts): Promise<void> {
    const written = change.commit(facts)
    this.#services.running.end(intent)
    return written.then(
      () => {
        if (isShown(intent)) this.#services.announce(intent.userUuid, change.seq)
      },
      (error: unknown) => this.#services.postpone({ ...intent, seq: change.seq }, error),
    )
  }

  async #resolveByStorage(intent: ChangeIntent, change: PendingChange, failure: unknown): Promise<void> {
    if (wasGivenUp(failure)) return this.#postpone(intent, change, failure)
    try {
      if (await this.#services.wasApplied(intent)) await this.#commit(intent, change)
      else {
        const left = await this.#services.recordLeft(intent)
        await change.discard()
        this.#services.running.end(intent)
        // Readers may see later changes now.
        if (isShown(intent)) this.#services.announce(intent.userUuid, left ?? change.seq)
      }
    } catch (error) {
      this.#postpone(intent, change, error)
    }
  }

  /** The change is pending in the journal from then on. */
  #postpone(intent: ChangeIntent, { seq }: PendingChange, cause: unknown): void {
    this.#services.running.end(intent)
    this.#services.postpone({ ...intent, seq }, cause)
  }
}

/** Whether a storage was given up while it was silent. It may make the change some seconds later, so it is not asked at once. */
function wasGivenUp(failure: unknown): boolean {
  for (let error = failure; error instanceof Error; error = error.cause)
    if (error.name === 'TimeoutError') return true
  return false
}
