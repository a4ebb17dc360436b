import type { ChangedPaths, ChangeIntent } from './change.ts'

type Listener = (change: ChangeIntent) => void

/** The changes that the node makes now: their outcome is not recorded yet. */
export class RunningChanges {
  readonly #running = new Set<ChangeIntent>()
  readonly #listeners = new Map<string, Set<Listener>>()

  begin(change: ChangeIntent): void {
    this.#running.add(change)
    for (const listener of this.#listeners.get(change.userUuid) ?? []) listener(change)
  }

  /** Takes note that the outcome of a change is on its way to the journal. */
  end(change: ChangeIntent): void {
    this.#running.delete(change)
  }

  /** The paths of a user's changes that run. */
  pathsOf(userUuid: string): ChangedPaths[] {
    return [...this.#running].filter((change) => change.userUuid === userUuid)
  }

  /** Calls a listener when a change of a user begins, until the returned function is called. */
  follow(userUuid: string, listener: Listener): () => void {
    const listeners = this.#listeners.get(userUuid) ?? new Set()
    this.#listeners.set(userUuid, listeners)
    listeners.add(listener)
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0 && this.#listeners.get(userUuid) === listeners)
        this.#listeners.delete(userUuid)
    }
  }
}
