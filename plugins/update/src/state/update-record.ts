import { setTimeout } from 'node:timers/promises'
import { type Log, NodekeepError, type Release } from '@nodekeep/plugin-sdk'
import { isDiskFull } from '@nodekeep/plugin-sdk/data-folder'
import { readJson, writeJson } from '@nodekeep/plugin-sdk/durable-files'
import type { ReleaseAttempt } from '../releases/node-releases.ts'

/** The reason that kept an update from being installed, or a version that does not work from being left. */
interface UpdateProblem {
  /** One sentence for people. */
  readonly text: string
  /** When the last change of the release before it began, in the form of ISO 8601; `null` if there was none. The next change is newer. */
  readonly after: string | null
}

/** A version that must be watched after clients have reached it. */
interface ProbationRecord {
  readonly version: string
  /** The names of the probes that the former version passed. */
  readonly passed: readonly string[]
  /** The probation of the former version, if it was not over. It goes on if that version runs again. */
  readonly former?: Omit<ProbationRecord, 'former'>
}

/**
 * The memory of the plugin. It survives restarts and ways back, so it is a file and no row of a database. The changes of the release
 * are not in it: the supervisor records them.
 */
export interface UpdateRecord {
  /** When the source last answered. */
  readonly checkedAt: string | null
  /** When the last check was tried. */
  readonly triedAt: string | null
  /** Why the last check failed. */
  readonly checkProblem: string | null
  /** The newest release that was found. */
  readonly latest: Release | null
  /** A version after which no rollback is possible, as a check of its release has shown. */
  readonly withoutWayBack: string | null
  readonly problem: UpdateProblem | null
  /** Stored by the former version, for the one that it asks the supervisor to change to. */
  readonly probation: ProbationRecord | null
}

/** Returns when a change of the release began, as {@link UpdateProblem.after} has it. */
export function beginOf(attempt: ReleaseAttempt | undefined): string | null {
  return attempt?.startedAt.toISOString() ?? null
}

/** The record as its file holds it. */
interface StoredRecord extends Partial<UpdateRecord> {
  /** The probation, as versions stored it that kept the whole update there. */
  readonly handed?: { readonly to: string; readonly passed: readonly string[] } | null
}

const empty: UpdateRecord = {
  checkedAt: null,
  triedAt: null,
  checkProblem: null,
  latest: null,
  withoutWayBack: null,
  problem: null,
  probation: null,
}

/** The record of updates in a file. It is stored whole or not at all. */
export class RecordFile {
  readonly #file: string
  readonly #log: Pick<Log, 'warn'>
  readonly #signal: AbortSignal
  readonly #storeAgainMs: number
  #record: UpdateRecord = empty
  #last: Promise<void> = Promise.resolve()

  /**
   * @param signal aborted when the plugin stops
   * @param storeAgainMs the pause before a record is stored again, in milliseconds
   */
  constructor(file: string, log: Pick<Log, 'warn'>, signal: AbortSignal, storeAgainMs = 10_000) {
    this.#file = file
    this.#log = log
    this.#signal = signal
    this.#storeAgainMs = storeAgainMs
  }

  get record(): UpdateRecord {
    return this.#record
  }

  /** Returns the probation of a version; `null` if it is over, or if there was none. */
  probationOf(version: string): ProbationRecord | null {
    const { probation } = this.#record
    const found = [probation, probation?.former].find((one) => one?.version === version)
    return found ?? null
  }

  /** Returns the change that ends the probation of a version, and no other one. */
  withoutProbationOf(version: string): Pick<UpdateRecord, 'probation'> {
    const { probation } = this.#record
    if (probation === null || probation.version === version) return { probation: null }
    return { probation: { version: probation.version, passed: probation.passed } }
  }

  /** Reads the file. One that is damaged counts as none. */
  async load(): Promise<void> {
    const stored = await readJson<StoredRecord>(this.#file).catch(() => null)
    const { handed, ...record } = stored ?? {}
    const probation = handed ? { version: handed.to, passed: handed.passed } : null
    this.#record = { ...empty, probation, ...record }
  }

  /**
   * Changes the record. It is on the disk when this resolves.
   *
   * @throws NodekeepError INSUFFICIENT_STORAGE if the disk is full; errors of the file system
   */
  async change(changes: Partial<UpdateRecord>): Promise<void> {
    this.#record = { ...this.#record, ...changes }
    await this.#storeNext()
  }

  /** Changes the record for work that must go on without a disk. It is stored now or, if that fails, as soon as possible. */
  async note(changes: Partial<UpdateRecord>): Promise<void> {
    try {
      await this.change(changes)
    } catch (err) {
      this.#log.warn({ err }, 'The state of updates is stored later.')
      void this.#storeLater()
    }
  }

  async #storeLater(): Promise<void> {
    const signal = this.#signal
    for (let isStored = false; !isStored && !signal.aborted; ) {
      await setTimeout(this.#storeAgainMs, undefined, { signal, ref: false }).catch(() => {})
      if (!signal.aborted)
        isStored = await this.#storeNext().then(
          () => true,
          () => false,
        )
    }
  }

  #storeNext(): Promise<void> {
    this.#last = this.#last.catch(() => {}).then(() => this.#store())
    return this.#last
  }

  async #store(): Promise<void> {
    try {
      await writeJson(this.#file, this.#record)
    } catch (cause) {
      if (!isDiskFull(cause)) throw cause
      const message =
        'The disk is full, so the state of updates cannot be stored. Free some space, and try again.'
      throw new NodekeepError('INSUFFICIENT_STORAGE', message, { cause })
    }
  }
}
