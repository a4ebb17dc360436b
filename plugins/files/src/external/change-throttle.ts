import { foldersAbove, type UserPath } from '../paths/user-path.ts'

/** Milliseconds of the first pause after a recorded change. Each further pause is twice as long. */
const firstPauseMs = 250
const longestPauseMs = 60_000

/** Milliseconds without a change after which a path no longer waits for the end of its pause. */
const quietMs = 5000

/** Milliseconds after its last recorded change for which a path is remembered. After that, its pauses start with the first again. */
const rememberMs = 2 * longestPauseMs

/** Paths that are remembered at a time. While there are more, the newest of them have no pauses. */
const mostPaths = 20_000

interface Pause {
  readonly ms: number
  readonly recordedAt: number
  endsAt: number
  /** When the path changed last, if that is not recorded yet. */
  waitsSince: number | null
}

/**
 * Pauses between the recorded changes of a path. Without them, a program that changes a file all the time would fill the journal.
 *
 * The first change of a path is recorded at once. The next one is recorded at the end of a pause, or after {@link quietMs} without
 * a change. So after its first changes, a path gets at most one row of the journal in {@link quietMs}, and its last state is
 * recorded at most that much later, or at the end of a shorter pause.
 */
export class ChangeThrottle {
  readonly #now: () => number
  /** The path that was recorded longest ago comes first. */
  readonly #pauses = new Map<UserPath, Pause>()

  /** @param now returns the time in milliseconds */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Milliseconds until a waiting path is due; `null` while none waits. */
  get dueInMs(): number | null {
    const due = [...this.#pauses.values()].reduce((next, pause) => Math.min(next, dueAt(pause)), Infinity)
    return due === Infinity ? null : Math.max(0, due - this.#now())
  }

  /** Takes the paths that waited and may be recorded now. */
  takeDue(): UserPath[] {
    const now = this.#now()
    const due: UserPath[] = []
    for (const [path, pause] of this.#pauses) {
      if (dueAt(pause) > now) continue
      due.push(path)
      pause.endsAt = now
      pause.waitsSince = null
    }
    return due
  }

  /** Whether a path waits to be recorded. */
  isWaiting(path: UserPath): boolean {
    return (this.#pauses.get(path)?.waitsSince ?? null) !== null
  }

  /** Takes note that a path may have changed. */
  notice(path: UserPath): void {
    const pause = this.#pauses.get(path)
    if (pause !== undefined && pause.waitsSince !== null) pause.waitsSince = this.#now()
  }

  /** Returns whether a change of the path may be recorded now. If not, the path waits, or a folder above it does. */
  allows(path: UserPath): boolean {
    if (this.isWaiting(path) || foldersAbove(path).some((folder) => this.isWaiting(folder))) return false
    const pause = this.#pauses.get(path)
    const now = this.#now()
    if (pause === undefined || pause.endsAt <= now) return true
    pause.waitsSince = now
    return false
  }

  /** Begins the pause after a change of the path was recorded. */
  recorded(path: UserPath): void {
    const now = this.#now()
    for (const [old, { recordedAt, waitsSince }] of this.#pauses) {
      if (now - recordedAt < rememberMs || waitsSince !== null) break
      this.#pauses.delete(old)
    }
    const before = this.#pauses.get(path)
    const ms = before === undefined ? firstPauseMs : Math.min(before.ms * 2, longestPauseMs)
    this.#pauses.delete(path)
    if (this.#pauses.size < mostPaths)
      this.#pauses.set(path, { ms, recordedAt: now, endsAt: now + ms, waitsSince: null })
  }
}

function dueAt({ endsAt, waitsSince }: Pause): number {
  return waitsSince === null ? Infinity : Math.min(endsAt, waitsSince + quietMs)
}
