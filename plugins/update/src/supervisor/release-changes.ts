import { renameSync, rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isDiskFull, lockDataFolder, makeReserve } from '@nodekeep/plugin-sdk/data-folder'
import { syncFolderSync } from '@nodekeep/plugin-sdk/durable-files'
import { messageOf, type ReleaseRequest } from '@nodekeep/plugin-sdk/supervision'
import { copyDatabases, databasesIn, putBackDatabases } from './database-copies.ts'
import type { NodeProcess } from './node-process.ts'
import { type KeptCopies, type ReleaseFolder, readManifest } from './release-folder.ts'
import { Rollback } from './rollback.ts'
import type { SupervisorLog } from './supervisor-log.ts'
import { type Change, changeOf, rollbackUntil, type SupervisorState } from './supervisor-state.ts'
import { passTrial } from './trial.ts'

interface ReleaseChangesOptions {
  /** The data folder of the node. */
  readonly data: string
  /** The maximum time for a release to start and to be healthy, before clients reach it. */
  readonly trialMs: number
}

/** The options of a change. */
export interface ChangeOptions {
  /** The time to wait for requests that run. */
  readonly drainMs: number
  /** Whether the new release may run migrations that the former one cannot undo. */
  readonly withoutRollback: boolean
  /** Starts the node of a release on trial. */
  readonly startTrial: (release: string) => NodeProcess
  /** Aborted when the supervisor has to end. */
  readonly stopped: AbortSignal
}

/** Enough for `state.json` and `history.json`, which are written anew beside themselves. In bytes. */
const reserveBytes = 1024 * 1024

const interrupted = 'The machine or the supervisor was stopped during the change.'

/** The steps from one release to another one. README.md describes them. */
export class ReleaseChanges {
  readonly rollback: Rollback
  readonly #folder: ReleaseFolder
  readonly #state: SupervisorState
  readonly #log: SupervisorLog
  readonly #options: ReleaseChangesOptions

  constructor(
    folder: ReleaseFolder,
    state: SupervisorState,
    log: SupervisorLog,
    options: ReleaseChangesOptions,
  ) {
    this.#folder = folder
    this.#state = state
    this.#log = log
    this.#options = options
    this.rollback = new Rollback(folder, state, log)
  }

  /** Whether clients are being let in, so that the end of the change depends on the node. */
  get isAdmitting(): boolean {
    return this.#state.change?.step === 'admitting'
  }

  /** Completes or undoes a change that was interrupted. No node runs meanwhile. */
  async recover(): Promise<void> {
    await rm(this.#folder.unpacking, { recursive: true, force: true })
    await rm(this.#folder.copying, { recursive: true, force: true })
    this.rollback.completeUnstored()
    const { change } = this.#state
    switch (change?.step) {
      case 'preparing':
        // They may just have been made.
        await rm(this.#folder.copiesBefore(change.to), { recursive: true, force: true })
        return this.#fail(change, interrupted)
      case 'trial':
      case 'restoring':
        return this.#putBack(change, change.reason ?? interrupted)
      case 'admitting':
        return this.#switchTo(change)
      case 'going back':
        return this.rollback.complete(change)
    }
  }

  /**
   * Begins what the node asks for.
   *
   * @throws Error with the reason for a refusal
   */
  begin(request: ReleaseRequest): Change {
    if (this.#state.change !== null) throw new Error('The release changes already.')
    if (request.nodekeep === 'go back') return this.rollback.begin(request.reason)
    const { release: to } = request
    if (readManifest(this.#folder.inUse()).version === to) throw new Error(`Version ${to} runs already.`)
    const toPath = this.#folder.folderOf(to)
    if (readManifest(join(this.#folder.unpacking, to)).version !== to)
      throw new Error(`That is not version ${to}.`)
    const former = this.#folder.target('former')
    // A former attempt may have left it.
    rmSync(toPath, { recursive: true, force: true })
    renameSync(join(this.#folder.unpacking, to), toPath)
    syncFolderSync(this.#folder.path)
    // The folder of the former release may just have been replaced.
    if (former === toPath) this.#folder.unlink('former')
    return this.beginAt(toPath)
  }

  /** Begins the change to a release that stays where it is. */
  beginAt(toPath: string): Change {
    const fromPath = this.#folder.inUse()
    const [from, to] = [readManifest(fromPath).version, readManifest(toPath).version]
    const change = changeOf('preparing', { from, fromPath, to, toPath }, null)
    this.#state.enter(change)
    return change
  }

  /**
   * Replaces a node, after {@link begin} or {@link beginAt}.
   *
   * @param node `null` if none runs
   * @returns the node of the new release; `null` if none runs, and that of the release in use has to start
   */
  async carryOut(
    node: NodeProcess | null,
    begun: Change,
    options: ChangeOptions,
  ): Promise<NodeProcess | null> {
    if (begun.step === 'going back') {
      await node?.stop()
      this.rollback.complete(begun)
      return null
    }
    const { trialMs } = this.#options
    this.#log.info(`Version ${begun.to} replaces version ${begun.from}.`)
    await node?.stop(options.drainMs)
    let change: Change
    try {
      change = await this.#copyDatabases(begun)
    } catch (error) {
      this.#fail(begun, copyProblem(error as NodeJS.ErrnoException, this.#folder.copies()))
      return null
    }
    const trial = options.startTrial(change.toPath)
    try {
      const contractions = await passTrial(trial, trialMs, options.stopped)
      if (contractions.length > 0 && !options.withoutRollback)
        throw new Error(noRollback(change, contractions))
      this.#admit(trial, change, contractions)
      return trial
    } catch (error) {
      // No client has reached it, and its databases are replaced. So nothing is lost with it.
      trial.kill()
      await trial.ended
      await this.#putBack({ ...change, failedOnTrial: !options.stopped.aborted }, messageOf(error))
      return null
    }
  }

  /** Clients reach the node. Returns a promise that resolves when what is not needed any more was removed. */
  served(): Promise<void> {
    const { change } = this.#state
    if (change?.step === 'admitting') {
      this.#log.info(`Version ${change.to} is installed.`)
      this.#state.end(change, 'installed', null)
    }
    return this.#tidy(() => [...this.#folder.unused(), ...this.#replacedCopies()])
  }

  /** Counts time for which the supervisor has run, in milliseconds, and removes the copies of databases when their time is over. */
  async ran(ms: number): Promise<void> {
    this.#state.ran(ms)
    await this.#tidy(() =>
      rollbackUntil(this.#state.ranMs) === null ? this.#folder.copies().map(({ path }) => path) : [],
    )
  }

  /**
   * Tells what to do if the node cannot start, and copies of its databases are there: the version that was left may have damaged its
   * data. They are never put back without a person, since clients have written meanwhile.
   */
  nameCopies(): void {
    const { data } = this.#options
    for (const { path, before } of this.#folder.copies())
      this.#log.error(
        `If data of the node is damaged: ${path} has copies of all databases as they were right before version ${before} started. ` +
          `To use one, keep the damaged file and those beside it that end in "-wal" and "-shm" somewhere else, and move the copy with its "-wal" to the same place in ${data}. What was stored there since then is not in it.`,
      )
  }

  /** @returns the change in its next step, the trial */
  async #copyDatabases(begun: Change): Promise<Change> {
    const { data } = this.#options
    const copies = this.#folder.copiesBefore(begun.to)
    const databases = databasesIn(data)
    const change: Change = { ...begun, step: 'trial', databases }
    const lock = lockDataFolder(data)
    try {
      await copyDatabases(data, databases, copies, this.#folder.copying)
      this.#state.enter(change)
      return change
    } catch (error) {
      rmSync(this.#folder.copying, { recursive: true, force: true })
      throw error
    } finally {
      lock.release()
    }
  }

  /** @param contractions the migrations that the former release cannot undo */
  #admit(trial: NodeProcess, change: Change, contractions: readonly string[]): void {
    const { from, to } = change
    const closedBy =
      contractions.length === 0
        ? null
        : `Version ${to} has changed data in a way that version ${from} cannot use (${contractions.join(', ')}).`
    const admitting: Change = { ...change, step: 'admitting', closedBy }
    // From the admission on, a missing link to a former release means that the node went back.
    if (this.#folder.target('former') === null) this.#folder.link('former', change.fromPath)
    // From now on the copies of the databases are never put back, since clients may have written.
    this.#state.enter(admitting)
    this.#switchTo(admitting)
    trial.admit()
  }

  /** Makes a release the one in use, and the one that ran before it the former one. */
  #switchTo({ fromPath, toPath }: Change): void {
    this.#folder.link('former', fromPath)
    this.#folder.link('current', toPath)
  }

  /** Puts the databases back after a trial, which no client has reached. */
  async #putBack(change: Change, reason: string): Promise<void> {
    const { data } = this.#options
    const restoring: Change = { ...change, step: 'restoring', reason }
    this.#state.enterInAnyCase(restoring)
    this.#folder.link('current', change.fromPath)
    // The admission may have been interrupted before its first step was stored.
    if (this.#folder.target('former') === change.fromPath) this.#folder.unlink('former')
    const lock = lockDataFolder(data)
    try {
      await putBackDatabases(data, change.databases, this.#folder.copiesBefore(change.to))
    } finally {
      lock.release()
    }
    this.#fail(restoring, reason)
  }

  #fail(change: Change, reason: string): void {
    this.#log.error(
      `Version ${change.to} was not installed, and version ${change.from} runs again, with its data as it was: ${reason}`,
    )
    this.#state.end(change, 'failed', reason)
  }

  /** The copies from before an earlier update than the last one. */
  #replacedCopies(): string[] {
    const { admission } = this.#state
    if (admission === null) return []
    return this.#folder.copies().flatMap(({ path, before }) => (before === admission.version ? [] : [path]))
  }

  /** Removes what is not needed any more while no change runs, and makes the reserve for the files of the supervisor. */
  async #tidy(unneeded: () => readonly string[]): Promise<void> {
    try {
      for (const path of unneeded()) {
        if (this.#state.change !== null) return
        await rm(path, { recursive: true, force: true })
      }
      await makeReserve(this.#folder.path, reserveBytes)
    } catch (error) {
      this.#log.warn(`Former releases could not be removed: ${messageOf(error)}`)
    }
  }
}

/** Only the start of a release tells which migrations of plugins have to run. */
function noRollback({ from, to }: Change, contractions: readonly string[]): string {
  return (
    `Version ${to} changes data in a way that version ${from} cannot use (${contractions.join(', ')}), so there would be no way back. ` +
    'Make a backup, then install it with "nodekeep update install --without-way-back". If you have unpacked it yourself, run its "bin/nodekeep supervise --again --without-way-back".'
  )
}

/** Returns one sentence for people. */
function copyProblem(error: NodeJS.ErrnoException, kept: readonly KeptCopies[]): string {
  if (!isDiskFull(error)) return `The databases could not be copied: ${messageOf(error)}`
  const sentences = kept.map(
    ({ path, before }) =>
      ` If you do not need the copies from before version ${before} any more, remove ${path}.`,
  )
  return `The disk was full while the databases were copied.${sentences.join('')}`
}
