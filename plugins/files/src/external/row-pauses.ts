import { foldersAbove, type UserPath } from '../paths/user-path.ts'

/** Milliseconds of the first pause after a row. Each further one is twice as long. */
const firstPauseMs = 250
const longestPauseMs = 60_000

/** Milliseconds without a change after which a path no longer waits for the end of its pause. */
const quietMs = 5000

/** Milliseconds after its last row for which a path is remembered. Its pauses then begin anew. */
const rememberMs = 2 * longestPauseMs

/** Paths that are remembered at a time. While there are more, the newest of them have no pauses. */
const mostPaths = 20_000

interface Pause {
  readonly ms: number
  readonly rowAt: number
  endsAt: number
  /** When the path changed last, if it lacks a row for that. */
  waitsSince: number | null
}

/**
 * The pauses between the rows of a path. Without them, a program that changes a file all the time would fill the journal.
 *
 * The first change of a path gets its row at once. The next row comes at the end of a pause, or when the path has been quiet
 * for a while. So after its first rows a path gets at most one row in {@link quietMs}, and its last state is never later than
 * that, except by the end of a shorter pause.
 */
export class RowPauses {
  readonly #now: () => number
  /** The path with the oldest row comes first. */
  readonly #pauses = new Map<UserPath, Pause>()

  /** @param now returns the time in milliseconds */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Milliseconds until a path is due that waits; `null` while none waits. */
  get dueInMs(): number | null {
    const due = [...this.#pauses.values()].reduce((next, pause) => Math.min(next, dueAt(pause)), Infinity)
    return due === Infinity ? null : Math.max(0, due - this.#now())
  }

  /** Takes the paths that waited and may have a row now. */
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

  /** Whether a path waits for its row. */
  isWaiting(path: UserPath): boolean {
    return (this.#pauses.get(path)?.waitsSince ?? null) !== null
  }

  /** Tells that a path may have changed. */
  notice(path: UserPath): void {
    const pause = this.#pauses.get(path)
    if (pause !== undefined && pause.waitsSince !== null) pause.waitsSince = this.#now()
  }

  /** Returns whether a path that lacks a row may have it. If not, it waits, or a folder above it does. */
  admit(path: UserPath): boolean {
    if (this.isWaiting(path) || foldersAbove(path).some((folder) => this.isWaiting(folder))) return false
    const pause = this.#pauses.get(path)
    const now = this.#now()
    if (pause === undefined || pause.endsAt <= now) return true
    pause.waitsSince = now
    return false
  }

  /** Begins the pause after a row. */
  begin(path: UserPath): void {
    const now = this.#now()
    for (const [old, { rowAt, waitsSince }] of this.#pauses) {
      if (now - rowAt < rememberMs || waitsSince !== null) break
      this.#pauses.delete(old)
    }
    const before = this.#pauses.get(path)
    const ms = before === undefined ? firstPauseMs : Math.min(before.ms * 2, longestPauseMs)
    this.#pauses.delete(path)
    if (this.#pauses.size < mostPaths)
      this.#pauses.set(path, { ms, rowAt: now, endsAt: now + ms, waitsSince: null })
  }
}

function dueAt({ endsAt, waitsSince }: Pause): number {
  return waitsSince === null ? Infinity : Math.min(endsAt, waitsSince + quietMs)
}
