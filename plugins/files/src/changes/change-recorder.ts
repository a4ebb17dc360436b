import type { ChangeIntent, Journal, PendingChange } from '../journal/journal.ts'

export interface RecorderParts {
  readonly journal: Journal
  /** Tells from the storage whether a change took place. */
  readonly hasHappened: (intent: ChangeIntent) => Promise<boolean>
  /** Decides on what is still open where a change is about to begin. */
  readonly decideBefore: (intent: ChangeIntent) => Promise<void>
  /** Called for each change that is in the journal for good. */
  readonly announce: (userUuid: string, seq: number) => void
  /** Takes a change whose outcome could not be found out or noted, to try that again later. */
  readonly postpone: (change: ChangeIntent & { readonly seq: number }, cause: unknown) => void
}

/** A change that the journal has as begun. */
export interface BegunChange {
  /** It took place. Whoever looks at the journal sees that from now on. */
  commit(): void
  /** Its step failed. That may have been after it took effect, so the storage is asked. */
  settle(): Promise<void>
}

/** Notes changes in the journal: what is about to happen, then that it did. */
export class ChangeRecorder {
  readonly #parts: RecorderParts

  constructor(parts: RecorderParts) {
    this.#parts = parts
  }

  /** Notes durably what is about to happen. */
  async begin(intent: ChangeIntent): Promise<BegunChange> {
    await this.#parts.decideBefore(intent)
    const change = await this.#parts.journal.begin(intent)
    return {
      commit: () => this.#commit(intent, change),
      settle: () => this.#settle(intent, change),
    }
  }

  /** Makes a change in one step of the storage, with its note before and after. */
  async record<T>(intent: ChangeIntent, step: () => Promise<T>): Promise<T> {
    const change = await this.begin(intent)
    let result: T
    try {
      result = await step()
    } catch (error) {
      await change.settle()
      throw error
    }
    change.commit()
    return result
  }

  #commit(intent: ChangeIntent, change: PendingChange): void {
    change.commit().then(
      () => this.#parts.announce(intent.userUuid, change.seq),
      (error: unknown) => this.#parts.postpone({ ...intent, seq: change.seq }, error),
    )
  }

  async #settle(intent: ChangeIntent, change: PendingChange): Promise<void> {
    try {
      if (await this.#parts.hasHappened(intent)) this.#commit(intent, change)
      else await change.discard()
    } catch (error) {
      this.#parts.postpone({ ...intent, seq: change.seq }, error)
    }
  }
}
