import { rm } from 'node:fs/promises'
import {
  conflict,
  isNodekeepError,
  type Log,
  type NodeInfo,
  type NodekeepError,
  type Release,
  type UpdateSource,
} from '@nodekeep/plugin-sdk'
import semver from 'semver'
import { installProblem } from './install-problem.ts'
import type { NodeReleases, ReleaseAttempt } from './releases/node-releases.ts'
import { beginOf, type RecordFile } from './state/update-record.ts'
import { lastFailureOf } from './supervisor/supervisor-state.ts'

interface UpdatesServices {
  readonly info: Pick<NodeInfo, 'version' | 'installation'>
  readonly source: UpdateSource | undefined
  readonly releases: NodeReleases
  readonly file: RecordFile
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>
  readonly waitMs: number
  /** Finds out which probes the running version passes. */
  readonly passedProbes: (signal: AbortSignal) => Promise<readonly string[]>
  /** Aborted when the plugin stops. */
  readonly signal: AbortSignal
}

/** The result of a check. */
interface CheckResult {
  readonly updateAvailable: boolean
  readonly latestVersion: string
}

/** The end of an installation, as far as this version sees it. */
interface InstallResult {
  readonly success: boolean
  readonly message: string
}

/** The steps of an update in their order. Going back has one. */
export const stepNames = ['checking', 'downloading', 'trying', 'changing', 'going back'] as const

/** The step that runs now. */
interface Step {
  readonly name: (typeof stepNames)[number]
  /** For people. */
  readonly text: string
  /** The share of the whole update that is done, from 0 to 100. */
  readonly percent: number
}

/** Time for the supervisor to stop this version after the wait for requests. After this time, the change has failed. */
const stopMs = 120_000

/** The reason of a rollback that a person has chosen. */
export const askedFor = 'The owner of the node asked for it.'

/** Finds and installs new versions, one at a time. */
export class Updates {
  readonly #services: UpdatesServices
  #checking: Promise<Release | null> | null = null
  #step: Step | null = null

  constructor(services: UpdatesServices) {
    this.#services = services
  }

  /** The step that runs; `null` while no update runs. */
  get step(): Step | null {
    return this.#step
  }

  /** Why this node cannot install updates; `null` if it can. */
  get installProblem(): string | null {
    return installProblem(this.#services)
  }

  /** The newest release that a check has found; `null` if it is not newer than the running version. */
  get newer(): Release | null {
    const { latest } = this.#services.file.record
    return latest !== null && semver.gt(latest.version, this.#services.info.version) ? latest : null
  }

  /** Returns the progress of an update for people, or how the last one ended. */
  async progress(): Promise<string> {
    if (this.#step !== null) return textOf(this.#step)
    const { info, file, releases } = this.#services
    const { problem } = file.record
    const last = (await releases.history()).at(-1)
    if (problem !== null && problem.after === beginOf(last)) return problem.text
    const { version } = info
    if (last?.result === 'running') return `Changing to version ${last.to}.`
    if (last?.result === 'failed' && last.from === version)
      return `Version ${last.to} did not work, so version ${version} runs again. ${last.reason}`
    if (last?.to !== version) return 'No update runs.'
    if (last.result === 'went back') return `The node went back to version ${version}. ${last.reason}`
    return file.probationOf(version) !== null
      ? `Version ${version} is installed, and is being watched.`
      : `Version ${version} is installed.`
  }

  /**
   * Checks for a new version. Without a source, it finds none.
   *
   * @throws NodekeepError CONFLICT while an update runs; the errors of the source
   */
  async check(): Promise<CheckResult> {
    if (this.#step !== null) throw this.#busy()
    const found = await this.#findNewer()
    return {
      updateAvailable: found !== null,
      latestVersion: found?.version ?? this.#services.info.version,
    }
  }

  /**
   * Downloads the newest version, checks whether the node can run it, and asks the supervisor to change to it. This version stops
   * soon after.
   *
   * @param options.withoutRollback also installs a version after which no rollback is possible
   * @throws NodekeepError CONFLICT while an update runs, if this node cannot install updates, or if the new version could not run;
   *   the errors of the source
   */
  async install({ withoutRollback = false } = {}): Promise<InstallResult> {
    const { info, file, releases, log } = this.#services
    if (this.#step !== null) throw this.#busy()
    const { installProblem: refusal } = this
    if (refusal !== null) throw conflict(refusal)
    this.#step = { name: 'checking', text: 'Looking for a new version', percent: 0 }
    let failed: (error: unknown) => Promise<void> = async () => {}
    try {
      const release = await this.#findNewer()
      if (release === null) {
        this.#step = null
        return {
          success: false,
          message: `Version ${info.version} is the newest one. There is nothing to install.`,
        }
      }
      const change = { from: info.version, to: release.version }
      const after = beginOf((await releases.history()).at(-1))
      const problem = (reason: string) => ({
        text: `Version ${change.to} was not installed. ${reason}`,
        after,
      })
      failed = async (error) => {
        const reason = sentenceOf(error)
        await file.note({ problem: problem(reason), probation: file.probationOf(info.version) })
        log.warn({ event: 'update-failed', ...change, reason }, 'An update has failed.')
      }
      // It counts if this process ends before the supervisor has the update.
      await file.change({ problem: problem('The node ended before the update was ready. Install it again.') })
      log.info({ event: 'update-started', ...change }, 'An update begins.')
      return await this.#change(release, withoutRollback)
    } catch (error) {
      this.#step = null
      await failed(error)
      throw error
    }
  }

  /**
   * Checks for a new version without a person.
   *
   * @param automatic whether to install one, unless it did not work here before, or no rollback would be possible
   */
  async checkDaily(automatic: boolean): Promise<void> {
    const { info, log, file, signal } = this.#services
    if (this.#step !== null) return
    try {
      const { updateAvailable, latestVersion } = await this.check()
      if (!updateAvailable) return
      log.info({ version: latestVersion }, 'There is a new version.')
      if (!automatic || this.installProblem !== null || file.record.withoutWayBack === latestVersion) return
      // The way back would lead to a version that nobody knows to work.
      if (file.probationOf(info.version) !== null) return
      if ((await this.leftBecause(latestVersion)) === null) await this.install()
    } catch (err) {
      if (!signal.aborted) log.warn({ err }, 'The daily check for a new version has failed.')
    }
  }

  /**
   * Goes back to the former version, with the data as it is now. This version stops soon after.
   *
   * @throws NodekeepError CONFLICT if no rollback is possible, if the former version would refuse the configuration, or while an update
   *   runs
   */
  async goBack(): Promise<InstallResult> {
    if (this.#step !== null) throw this.#busy()
    this.#step = { name: 'going back', text: 'Going back to the version before', percent: 0 }
    try {
      return await this.#leave()
    } catch (error) {
      this.#step = null
      throw error
    }
  }

  /** The changes of the release, the newest first. */
  async history(): Promise<ReleaseAttempt[]> {
    return [...(await this.#services.releases.history())].reverse()
  }

  /** Why a version did not work here: it has failed on trial, or was left. Returns `null` for every other version. */
  async leftBecause(version: string): Promise<string | null> {
    const left = lastFailureOf(version, await this.#services.releases.history())
    return left === undefined ? null : (left.reason ?? '')
  }

  async #findNewer(): Promise<Release | null> {
    this.#checking ??= this.#ask().finally(() => {
      this.#checking = null
    })
    return this.#checking
  }

  async #ask(): Promise<Release | null> {
    const { info, source, file, signal } = this.#services
    if (source?.isConfigured !== true) return null
    const triedAt = new Date().toISOString()
    try {
      const latest = await source.latest(info.version, signal)
      await file.change({ checkedAt: triedAt, triedAt, checkProblem: null, latest })
      return latest
    } catch (error) {
      if (!signal.aborted) await file.change({ triedAt, checkProblem: sentenceOf(error) })
      throw error
    }
  }

  async #leave(): Promise<InstallResult> {
    const { releases, log } = this.#services
    const way = await releases.rollback()
    if (way === null) {
      // A supervisor refuses, and says why.
      if (releases.folder !== null) await releases.goBack(askedFor)
      throw conflict('There is no way back: no supervisor runs this node, so it has no former version.')
    }
    const problems = await releases.rollbackProblems()
    if (problems.length > 0)
      throw conflict(
        `Version ${way.version} could not start with the configuration as it is now. Correct it first. ${problems.join(' ')}`,
      )
    this.#step = { name: 'going back', text: `Going back to version ${way.version}`, percent: 50 }
    // The former version notes it. So a full disk does not prevent it.
    await releases.goBack(askedFor)
    log.info({ event: 'update-back', to: way.version }, 'The node goes back to the former version.')
    return {
      success: true,
      message: `The node goes back to version ${way.version}, and answers again in some seconds.`,
    }
  }

  async #change(release: Release, withoutRollback: boolean): Promise<InstallResult> {
    const { info, source, releases, file, passedProbes, waitMs, signal } = this.#services
    const { version } = release
    const folder = await releases.prepare(version)
    let warnings: readonly string[]
    try {
      this.#step = { name: 'downloading', text: `Downloading version ${version}`, percent: 5 }
      const onProgress = (share: number) => {
        this.#step = { name: 'downloading', text: `Downloading version ${version}`, percent: 5 + 70 * share }
      }
      await source?.download(release, folder, { signal, onProgress })
      this.#step = {
        name: 'trying',
        text: `Checking whether this node can run version ${version}`,
        percent: 80,
      }
      const found = await releases.check(folder, signal)
      warnings = found.warnings
      await file.change({ withoutWayBack: found.canRollBack ? null : version })
      if (found.problems.length > 0)
        throw conflict(`Version ${version} could not run on this node. ${found.problems.join(' ')}`)
      if (!found.canRollBack && !withoutRollback) throw conflict(noRollback(info.version, version))
      const passed = await passedProbes(signal)
      this.#step = { name: 'changing', text: `Changing to version ${version}`, percent: 90 }
      const former = file.probationOf(info.version)
      await file.change({ probation: { version, passed, ...(former && { former }) } })
      await releases.changeTo(folder, { waitMs, withoutRollback })
    } catch (error) {
      await rm(folder, { recursive: true, force: true }).catch(() => {})
      throw error
    }
    // If this version still runs then, the supervisor has not changed to the other one.
    setTimeout(() => {
      this.#step = null
    }, waitMs + stopMs).unref()
    const message = `Version ${version} is ready. The node changes to it as soon as the requests that run have ended.`
    return { success: true, message: [message, ...warnings].join(' ') }
  }

  #busy(): NodekeepError {
    return conflict(`An update runs already.${this.#step === null ? '' : ` ${textOf(this.#step)}.`}`)
  }
}

function textOf({ text, percent }: Step): string {
  return `${text}: ${Math.floor(percent)} %`
}

function noRollback(from: string, to: string): string {
  return (
    `After the update to version ${to}, there is no way back to version ${from}: it changes data in a way that ${from} cannot use. ` +
    'Make a backup, then install it with `nodekeep update install --without-way-back`.'
  )
}

/** Errors that are no NodekeepErrors are for the log. */
function sentenceOf(error: unknown): string {
  return isNodekeepError(error) ? error.message : 'Something went wrong on the node. Its log says more.'
}
