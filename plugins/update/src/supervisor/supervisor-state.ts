import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import { withReserve } from '@nodekeep/plugin-sdk/data-folder'
import { readJsonSync, writeJsonSync } from '@nodekeep/plugin-sdk/durable-files'
import { messageOf } from '@nodekeep/plugin-sdk/supervision'
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
  /** The reason for a rollback, in one sentence for people. */
  readonly reason: string | null
  /** The databases that were copied, relative to the data folder. */
  readonly databases: readonly string[]
  /** The reason why the former release cannot use the data any more; `null` if it can. */
  readonly closedBy: string | null
  /** Whether the new release has failed on trial. */
  readonly failedOnTrial: boolean
}

/** The last change whose release clients have reached. */
interface Admission {
  readonly version: string
  readonly former: string
  readonly closedBy: string | null
}

/** The part of a change that its end needs. */
type EndedChange = Pick<Change, 'from' | 'to' | 'startedAt' | 'closedBy' | 'failedOnTrial'>

/** An attempt that is over, as `history.json` holds it. */
interface StoredAttempt {
  readonly from: string
  readonly to: string
  readonly startedAt: string
  readonly endedAt: string
  readonly result: 'installed' | 'failed' | 'went back'
  readonly reason: string | null
  readonly failedOnTrial: boolean
}

/** The content of `state.json`. Fields that a newer version has added stay in it. */
interface StoredState {
  readonly format: 1
  readonly change: Change | null
  readonly admission: Admission | null
  /**
   * The time for which supervisors have run since the last change whose release clients have reached, in milliseconds. It is counted up to
   * the time limit of a rollback. A clock that is wrong for a while does not change it.
   */
  readonly ranMs: number
}

/** A rollback is possible while supervisors run for this long after clients have reached a release. */
export const rollbackHours = 72

const rollbackMs = rollbackHours * 60 * 60 * 1000

const keptAttempts = 100

/** The pause before the end of a change is stored again, in milliseconds. */
const storeAgainMs = 10_000

/**
 * Returns the state in a folder for releases.
 *
 * @throws Error with one sentence that says what to do
 */
export function readState(releases: string): StoredState {
  const stored = readStored(stateFile(releases))
  if (stored !== null && stored.format !== 1) {
    throw new Error(
      `A newer version of Nodekeep has written ${stateFile(releases)}. Start that version: ${join(releases, 'current/bin/nodekeep')} supervise`,
    )
  }
  return { format: 1, change: null, admission: null, ranMs: 0, ...stored }
}

function readStored(file: string): StoredState | null {
  try {
    return readJsonSync<StoredState>(file)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    const remedy = 'Remove it, and start again. Then the release in use runs, without a way back.'
    throw new Error(`The file ${file} is damaged. ${remedy}`, { cause: error })
  }
}

/** Returns the attempts that are over, the newest last. A file that is damaged counts as none: it must not keep a node from running. */
export function readHistory(releases: string): readonly StoredAttempt[] {
  try {
    const stored = readJsonSync<readonly StoredAttempt[]>(historyFile(releases))
    return Array.isArray(stored) ? stored : []
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    return []
  }
}

/** Returns the last attempt in which a version did not work here: it has failed on trial, or was left. */
export function lastFailureOf<
  Attempt extends { readonly result: string } & Pick<StoredAttempt, 'from' | 'to' | 'failedOnTrial'>,
>(version: string, history: readonly Attempt[]): Attempt | undefined {
  return history.findLast(({ from, to, result, failedOnTrial }) =>
    result === 'went back' ? from === version : failedOnTrial && to === version,
  )
}

/** The state of a supervisor. Each change of it is on the disk before the next step begins. */
export class SupervisorState {
  readonly #releases: string
  readonly #log: SupervisorLog
  #stored: StoredState
  /** The ends of changes that the disk has not taken yet. */
  #unstored: readonly StoredAttempt[] = []

  constructor(releases: string, log: SupervisorLog) {
    this.#releases = releases
    this.#log = log
    this.#stored = readState(releases)
  }

  get change(): Change | null {
    return this.#stored.change
  }

  get admission(): Admission | null {
    return this.#stored.admission
  }

  /** As in `state.json`. */
  get ranMs(): number {
    return this.#stored.ranMs
  }

  /** Counts time for which the supervisor has run. A full disk keeps its reserve for a rollback, and takes the sum later. */
  ran(ms: number): void {
    if (rollbackUntil(this.ranMs) === null) return
    this.#stored = { ...this.#stored, ranMs: this.ranMs + ms }
    try {
      this.#store(this.#stored)
    } catch {
      // The next time may do.
    }
  }

  /**
   * Enters a step of a change.
   *
   * @throws Error of the file system. Then the step was not entered.
   */
  enter(change: Change): void {
    const stored = { ...this.#stored, change }
    withReserve(this.#releases, () => this.#store(stored))
    this.#stored = stored
  }

  /** Enters a step that follows in any case. If it cannot be stored, a supervisor that starts meanwhile finds the step before. */
  enterInAnyCase(change: Change): void {
    try {
      this.enter(change)
    } catch (error) {
      this.#stored = { ...this.#stored, change }
      this.#log.error(`The step "${change.step}" could not be stored: ${messageOf(error)}`)
    }
  }

  /**
   * Ends a change. It can be repeated, since the record of an attempt has its start as its key. A disk that fails does not keep the node
   * from running: the end is stored as soon as that is possible, or the next start of the supervisor repeats the last step.
   */
  end(change: EndedChange, result: StoredAttempt['result'], reason: string | null): void {
    const { from, to, startedAt, closedBy, failedOnTrial } = change
    const endedAt = new Date().toISOString()
    this.#stored = {
      ...this.#stored,
      change: null,
      ...(result === 'installed' && { admission: { version: to, former: from, closedBy }, ranMs: 0 }),
      ...(result === 'went back' && { admission: null, ranMs: 0 }),
    }
    this.#unstored = [...this.#unstored, { from, to, startedAt, endedAt, result, reason, failedOnTrial }]
    try {
      withReserve(this.#releases, () => this.#store(this.#stored))
    } catch (error) {
      this.#log.error(`The end of the change could not be stored: ${messageOf(error)}`)
      const timer = setInterval(() => {
        try {
          if (this.#unstored.length > 0) withReserve(this.#releases, () => this.#store(this.#stored))
          clearInterval(timer)
        } catch {
          // The next time may do.
        }
      }, storeAgainMs)
      timer.unref()
    }
  }

  /** The history comes first: no state without a change may hide an end that is not in the history. */
  #store(stored: StoredState): void {
    if (this.#unstored.length > 0) {
      const isUnstored = (attempt: StoredAttempt) =>
        this.#unstored.some(({ startedAt, from }) => startedAt === attempt.startedAt && from === attempt.from)
      const others = readHistory(this.#releases).filter((attempt) => !isUnstored(attempt))
      writeJsonSync(historyFile(this.#releases), [...others, ...this.#unstored].slice(-keptAttempts))
    }
    writeJsonSync(stateFile(this.#releases), stored)
    this.#unstored = []
  }
}

/**
 * Returns a change that begins now.
 *
 * @param way the former release and the next one
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
    failedOnTrial: false,
  }
}

/**
 * Returns the time until which a rollback from a release is possible at least, and until which the copies of the databases from before it
 * stay at least; `null` if it is over. It comes later if no supervisor runs meanwhile.
 *
 * @param ranMs the time for which supervisors have run since the last change, as in `state.json`
 */
export function rollbackUntil(ranMs: number): Date | null {
  return ranMs > rollbackMs ? null : new Date(Date.now() + rollbackMs - ranMs)
}

function stateFile(releases: string): string {
  return join(releases, 'state.json')
}

function historyFile(releases: string): string {
  return join(releases, 'history.json')
}
