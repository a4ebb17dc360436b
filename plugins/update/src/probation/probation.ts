import { setTimeout } from 'node:timers/promises'
import { type Log, messageOf } from '@nodekeep/plugin-sdk'
import type { NodeReleases } from '../releases/node-releases.ts'
import { beginOf, type RecordFile } from '../state/update-record.ts'
import type { Probe } from './probes.ts'
import { watchVersion } from './watch-version.ts'

interface ProbationServices {
  /** The probes of the parts that the node has now. */
  readonly probes: () => readonly Probe[]
  readonly file: RecordFile
  readonly releases: Pick<NodeReleases, 'goBack' | 'rollback' | 'rollbackProblems' | 'history'>
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>
  /** Aborted when the plugin stops. */
  readonly signal: AbortSignal
}

interface ProbationOptions {
  readonly lastsMs?: number
  readonly everyMs?: number
  /** The pause before the supervisor is asked again to go back, in milliseconds. */
  readonly askAgainMs?: number
}

/** The length of a probation, in milliseconds. */
const probationMs = 5 * 60_000

const defaultAskAgainMs = 10_000

/**
 * The probation of a new version, of {@link probationMs} after clients have reached it. It begins again with each start, because it is
 * measured by a monotonic clock, which ends with the process.
 */
export class Probation {
  readonly #current: string
  readonly #services: ProbationServices
  readonly #options: ProbationOptions
  /** In the time of `performance.now()`; `null` without a probation. */
  #endsAt: number | null = null
  /** When the change to this version began. */
  #after: string | null = null

  /** @param current the version that runs */
  constructor(current: string, services: ProbationServices, options: ProbationOptions = {}) {
    this.#current = current
    this.#services = services
    this.#options = options
  }

  /** The end of the probation; `null` without one. */
  get until(): Date | null {
    if (this.#endsAt === null) return null
    return new Date(Date.now() + Math.max(this.#endsAt - performance.now(), 0))
  }

  /**
   * Watches the version, if it is new. If it does not do what the former version could, the node goes back, unless the former version
   * would refuse the configuration, or no rollback is possible.
   *
   * @throws the signal's reason
   */
  async watch(): Promise<void> {
    const current = this.#current
    const { file, releases, log } = this.#services
    const { lastsMs = probationMs } = this.#options
    const probation = file.probationOf(current)
    if (probation === null) return
    this.#endsAt = performance.now() + lastsMs
    try {
      // A version that works in part may not be able to read the history. It is watched all the same.
      this.#after = beginOf((await releases.history().catch(() => [])).at(-1))
      const problem = await watchVersion(probation.passed, this.#services, { ...this.#options, lastsMs })
      if (problem !== null) return await this.#leave(problem)
      await file.note({ ...file.withoutProbationOf(current), problem: null })
      log.info({ event: 'update-passed', version: current }, 'The new version works.')
    } finally {
      this.#endsAt = null
    }
  }

  /**
   * Asks the supervisor until the node goes back. A version may have used up the disk or the descriptors of this process, so nothing is
   * stored before: the former version reads the reason in the history.
   */
  async #leave(problem: string): Promise<void> {
    const current = this.#current
    const { file, releases, log, signal } = this.#services
    const { askAgainMs = defaultAskAgainMs } = this.#options
    const sentence = `Version ${current} did not work in its first minutes. ${problem}`
    log.error({ event: 'update-back', version: current, problem }, 'The new version does not work.')
    for (let logged = ''; ; ) {
      // A version that works in part is better than one that does not start. Without an answer, the former version is expected to start.
      const problems = await releases.rollbackProblems().catch(() => [])
      if (problems.length > 0) {
        const reason = `the version before could not start with the configuration as it is now. ${problems.join(' ')}`
        return await this.#stay(sentence, reason)
      }
      const refusal = await releases.goBack(sentence).then(() => null, messageOf)
      if (refusal === null) return
      if ((await releases.rollback().catch(() => undefined)) === null)
        return await this.#stay(sentence, `it cannot be left. ${refusal}`)
      if (refusal !== logged) {
        log.error({ version: current, refusal }, 'The node cannot go back now. It tries again and again.')
        const text = `${sentence} The node tries to go back. ${refusal}`
        await file.note({ problem: { text, after: this.#after } })
      }
      logged = refusal
      await setTimeout(askAgainMs, undefined, { signal }).catch(() => signal.throwIfAborted())
    }
  }

  async #stay(sentence: string, reason: string): Promise<void> {
    const current = this.#current
    const { file, log } = this.#services
    log.error({ version: current, reason }, 'The version stays, although it does not work.')
    const problem = { text: `${sentence} It stays, since ${reason}`, after: this.#after }
    await file.note({ ...file.withoutProbationOf(current), problem })
  }
}
