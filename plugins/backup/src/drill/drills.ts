import { basename } from 'node:path'
import { isNodekeepError, type Log, type NodekeepError } from '@nodekeep/plugin-sdk'
import { verifyArchive } from '../archive/read-archive.ts'
import { type DrilledBackup, type DrillServices, drill, removeFolder } from './drill.ts'
import type { TriedContents } from './tried-contents.ts'
import { type DrillVerdict, readVerdict, sentenceOf, storeVerdict } from './verdict.ts'

interface DrillsServices extends Omit<DrillServices, 'log'> {
  readonly contents: Pick<TriedContents, 'note' | 'confirm'>
  /** The folder of the plugin, which keeps the verdict. */
  readonly dataDir: string
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>
  /** Of a backup with more bytes of content, a sample of the files is restored, at most once a week. */
  readonly maxBytes?: number
  /** Bytes of that sample. */
  readonly sampleBytes?: number
}

const defaultMaxBytes = 10 * 1024 ** 3
const defaultSampleBytes = 1024 ** 3
const weekMs = 7 * 24 * 60 * 60_000

/** Tries out backups in the background, one at a time. */
export class Drills {
  readonly #services: DrillsServices
  #last: DrillVerdict | null = null
  #running: { readonly abort: AbortController; readonly done: Promise<void> } | null = null

  constructor(services: DrillsServices) {
    this.#services = services
  }

  /** The verdict of the last drill, also of an earlier start. A drill that was interrupted has none. */
  get last(): DrillVerdict | null {
    return this.#last
  }

  get isRunning(): boolean {
    return this.#running !== null
  }

  async load(): Promise<void> {
    this.#last = await readVerdict(this.#services.dataDir)
  }

  /** Removes what a crash has left. Call it while no drill runs. */
  async removeLeft(): Promise<void> {
    await removeFolder(this.#services.folder)
  }

  /** Begins to try out a backup. A drill that runs is interrupted. */
  begin(backup: DrilledBackup): void {
    const former = this.interrupt()
    const abort = new AbortController()
    const done = former.then(() => this.#try(backup, abort.signal))
    const running = { abort, done }
    this.#running = running
    done.finally(() => {
      if (this.#running === running) this.#running = null
    })
  }

  /** Ends the drill that runs, and waits until it has left nothing behind. */
  async interrupt(): Promise<void> {
    this.#running?.abort.abort(new Error('The drill was interrupted.'))
    await this.#running?.done
  }

  async #try(backup: DrilledBackup, signal: AbortSignal): Promise<void> {
    const { log } = this.#services
    const at = new Date()
    const filename = basename(backup.file)
    try {
      if (signal.aborted || this.#isTooSoon(backup, at)) return
      const outcome = await this.#outcome(backup, signal)
      if (signal.aborted) return
      const verdict = { filename, at: at.toISOString(), ...outcome }
      await this.#remember(verdict)
      if (verdict.result === 'passed' || (verdict.result === 'verified' && verdict.problem === null))
        this.#services.contents.confirm(filename, at)
      const line = { filename, result: verdict.result, problem: verdict.problem, seconds: verdict.seconds }
      if (verdict.result === 'failed') log.error(line, sentenceOf(verdict, at))
      else log.info(line, sentenceOf(verdict, at))
    } catch (err) {
      log.error({ err, filename }, 'The verdict of a drill could not be stored.')
    }
  }

  async #outcome(
    backup: DrilledBackup,
    signal: AbortSignal,
  ): Promise<Pick<DrillVerdict, 'result' | 'problem' | 'seconds'>> {
    try {
      if (this.#isLarge(backup)) {
        return { result: 'verified', problem: await this.#tryLarge(backup, signal), seconds: null }
      }
      const { seconds } = await drill(this.#services, backup, { signal })
      return { result: 'passed', problem: null, seconds }
    } catch (error) {
      // Somebody may delete the backup meanwhile.
      const isSkipped = isFull(error) || (isNodekeepError(error) && error.code === 'NOT_FOUND')
      return { result: isSkipped ? 'skipped' : 'failed', problem: (error as Error).message, seconds: null }
    }
  }

  /** Verifies a large backup, which needs no room on the disk, and tries out a sample of it. Returns why no node was started. */
  async #tryLarge(backup: DrilledBackup, signal: AbortSignal): Promise<string | null> {
    const { sampleBytes = defaultSampleBytes } = this.#services
    try {
      await drill(this.#services, backup, { sampleBytes, signal })
      return null
    } catch (error) {
      if (!isFull(error)) throw error
      await verifyArchive(backup.file, { identities: backup.identities, signal })
      return error.message
    }
  }

  #isLarge({ bytes }: DrilledBackup): boolean {
    return bytes > (this.#services.maxBytes ?? defaultMaxBytes)
  }

  /** To read a large backup takes hours. After a failure, the next backup is drilled. */
  #isTooSoon(backup: DrilledBackup, now: Date): boolean {
    const last = this.#last
    if (!this.#isLarge(backup) || last?.result !== 'verified') return false
    const ageMs = now.getTime() - Date.parse(last.at)
    // A verdict of the future was made while the clock was ahead, and may be old.
    return ageMs >= 0 && ageMs < weekMs
  }

  async #remember(verdict: DrillVerdict): Promise<void> {
    this.#last = verdict
    await storeVerdict(this.#services.dataDir, verdict)
  }
}

function isFull(error: unknown): error is NodekeepError {
  return isNodekeepError(error) && error.code === 'INSUFFICIENT_STORAGE'
}
