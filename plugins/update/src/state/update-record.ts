import { mkdir, open, readFile, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { NodekeepError, type Release } from '@nodekeep/plugin-sdk'

/** An update that was begun. Times are ISO 8601. */
interface BegunUpdate {
  readonly from: string
  readonly to: string
  readonly startedAt: string
}

/** An update that failed before the supervisor had anything to do with it. */
interface FailedUpdate extends BegunUpdate {
  readonly endedAt: string
  readonly reason: string
}

/** An update that the supervisor was asked for. */
interface HandedUpdate extends BegunUpdate {
  /** The names of the probes that the former version passed. */
  readonly passed: readonly string[]
  /** When clients reached the new version; `null` until then. */
  readonly servedAt: string | null
}

/** The memory of the plugin. It survives restarts and ways back, so it is a file and no row of a database. */
export interface UpdateRecord {
  /** When the source last answered. */
  readonly checkedAt: string | null
  /** When the last check was tried. */
  readonly triedAt: string | null
  /** Why the last check failed. */
  readonly checkProblem: string | null
  /** The newest release that was found. */
  readonly latest: Release | null
  /** The update that is downloaded or checked. */
  readonly begun: BegunUpdate | null
  readonly handed: HandedUpdate | null
  /** At most {@link maxFailures}, the newest last. */
  readonly failures: readonly FailedUpdate[]
  /** A version after which there is no way back, as a check of its release has shown. */
  readonly withoutWayBack: string | null
  /** How the last update ended: one sentence for people. */
  readonly outcome: string | null
}

const maxFailures = 100

const empty: UpdateRecord = {
  checkedAt: null,
  triedAt: null,
  checkProblem: null,
  latest: null,
  begun: null,
  handed: null,
  failures: [],
  withoutWayBack: null,
  outcome: null,
}

/** The record of updates in a file. Each change is on the disk when it resolves, whole or not at all. */
export class RecordFile {
  readonly #file: string
  #record: UpdateRecord = empty
  #last: Promise<void> = Promise.resolve()

  constructor(file: string) {
    this.#file = file
  }

  get record(): UpdateRecord {
    return this.#record
  }

  /** Reads the file. One that is damaged counts as none. */
  async load(): Promise<void> {
    try {
      this.#record = { ...empty, ...JSON.parse(await readFile(this.#file, 'utf8')) }
    } catch {
      this.#record = empty
    }
  }

  async change(changes: Partial<UpdateRecord>): Promise<void> {
    const { failures = this.#record.failures } = changes
    this.#record = { ...this.#record, ...changes, failures: failures.slice(-maxFailures) }
    this.#last = this.#last.catch(() => {}).then(() => this.#store())
    await this.#last
  }

  async #store(): Promise<void> {
    try {
      await this.#write()
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException
      if (code !== 'ENOSPC' && code !== 'EDQUOT') throw cause
      const message =
        'The disk is full, so the state of updates cannot be stored. Free some space, and try again.'
      throw new NodekeepError('INSUFFICIENT_STORAGE', message, { cause })
    }
  }

  async #write(): Promise<void> {
    await mkdir(dirname(this.#file), { recursive: true, mode: 0o700 })
    const next = `${this.#file}.new`
    const handle = await open(next, 'w', 0o600)
    try {
      await handle.writeFile(JSON.stringify(this.#record))
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(next, this.#file)
  }
}
