import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf } from '../errors/thrown.ts'
import { readIfPresent, writeDurably } from '../state/durable-file.ts'
import type { SupervisorLog } from './supervisor-log.ts'

/**
 * A change of the release that is not complete. The steps, and what a supervisor does that finds one of them at its start, are
 * described in README.md.
 */
export interface Change {
  readonly step: 'preparing' | 'trial' | 'restoring' | 'admitting' | 'going back'
  /** The version that ran before. */
  readonly from: string
  /** The absolute path of its release. */
  readonly fromPath: string
  readonly to: string
  readonly toPath: string
  /** In the form of ISO 8601. */
  readonly startedAt: string
  /** The reason for a way back, in one sentence for people. */
  readonly reason: string | null
  /** The databases that were copied, relative to the data folder. */
  readonly databases: readonly string[]
  /** The reason why the former release cannot use the data any more; `null` if it can. */
  readonly closedBy: string | null
}

/** The last change whose release clients have reached. */
interface Admission {
  readonly version: string
  readonly former: string
  /** In the form of ISO 8601. */
  readonly at: string
  readonly closedBy: string | null
}

/** An attempt that is over, as `history.json` holds it. */
interface StoredAttempt {
  readonly from: string
  readonly to: string
  readonly startedAt: string
  readonly endedAt: string
  readonly result: 'installed' | 'failed' | 'went back'
  readonly reason: string | null
}

interface StoredState {
  readonly format: 1
  readonly change: Change | null
  readonly admission: Admission | null
}

/** The way back is open for this long after clients have reached a release. */
const wayBackMs = 72 * 60 * 60 * 1000

const keptAttempts = 100

/** Returns the state in a folder for releases. */
export function readState(releases: string): Omit<StoredState, 'format'> {
  const stored = readIfPresent<StoredState>(stateFile(releases))
  if (stored !== null && stored.format !== 1) {
    throw new Error(
      `A newer version of Nodekeep has written ${stateFile(releases)}. Start that version: ${join(releases, 'current/bin/nodekeep')} supervise`,
    )
  }
  return { change: stored?.change ?? null, admission: stored?.admission ?? null }
}

/** Returns the attempts that are over, the newest last. */
export function readHistory(releases: string): readonly StoredAttempt[] {
  return readIfPresent<readonly StoredAttempt[]>(historyFile(releases)) ?? []
}

/** The state of a supervisor. Each change of it is on the disk before the next step begins. */
export class SupervisorState {
  readonly #releases: string
  readonly #log: SupervisorLog
  #change: Change | null
  #admission: Admission | null

  constructor(releases: string, log: SupervisorLog) {
    this.#releases = releases
    this.#log = log
    const { change, admission } = readState(releases)
    this.#change = change
    this.#admission = admission
  }

  get change(): Change | null {
    return this.#change
  }

  get admission(): Admission | null {
    return this.#admission
  }

  /** Enters a step of a change. */
  enter(change: Change): void {
    this.#change = change
    this.#store()
  }

  /**
   * Ends a change. It can be repeated, since the record of an attempt has its start as its key. A full disk does not keep the node from
   * running: then the next start of the supervisor repeats the last step.
   */
  end(change: Change, result: StoredAttempt['result'], reason: string | null): void {
    const { from, to, startedAt, closedBy } = change
    const endedAt = new Date().toISOString()
    this.#change = null
    if (result === 'installed') this.#admission = { version: to, former: from, at: endedAt, closedBy }
    if (result === 'went back') this.#admission = null
    try {
      const others = readHistory(this.#releases).filter((attempt) => attempt.startedAt !== startedAt)
      const attempt: StoredAttempt = { from, to, startedAt, endedAt, result, reason }
      writeDurably(historyFile(this.#releases), [...others, attempt].slice(-keptAttempts))
      this.#store()
    } catch (error) {
      this.#log.error(`The end of the change could not be stored: ${messageOf(error)}`)
    }
  }

  #store(): void {
    const state: StoredState = { format: 1, change: this.#change, admission: this.#admission }
    writeDurably(stateFile(this.#releases), state)
  }
}

/**
 * Returns a change that begins now.
 *
 * @param way the releases that it leads from and to
 */
export function changeOf(
  step: Change['step'],
  { from, fromPath, to, toPath }: Pick<Change, 'from' | 'fromPath' | 'to' | 'toPath'>,
  reason: string | null,
): Change {
  const startedAt = new Date().toISOString()
  // The former release may be reached by a link, which the change replaces.
  return {
    step,
    from,
    fromPath: realpathSync(fromPath),
    to,
    toPath: realpathSync(toPath),
    startedAt,
    reason,
    databases: [],
    closedBy: null,
  }
}

/** Returns the end of the time in which the way back is open, whatever the clock did meanwhile. */
export function wayBackUntil({ at }: Admission, now = Date.now()): Date | null {
  const until = new Date(Date.parse(at) + wayBackMs)
  return now < until.getTime() ? until : null
}

function stateFile(releases: string): string {
  return join(releases, 'state.json')
}

function historyFile(releases: string): string {
  return join(releases, 'history.json')
}
