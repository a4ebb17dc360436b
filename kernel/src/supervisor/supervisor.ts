import { realpathSync, renameSync, rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { messageOf } from '../errors/thrown.ts'
import { lockDataFolder, lockHolder } from '../state/lock.ts'
import { syncFolder } from '../state/sync-folder.ts'
import { copyDatabases, databasesIn, putBackDatabases } from './database-copies.ts'
import type { ReleaseRequest } from './messages.ts'
import { type NodeEnd, NodeProcess } from './node-process.ts'
import { type ReleaseFolder, readManifest } from './release-folder.ts'
import type { SupervisorLog } from './supervisor-log.ts'
import { type Change, type SupervisorState, wayBackUntil } from './supervisor-state.ts'

/** What a supervisor needs to run a node. */
interface SupervisorParts {
  readonly folder: ReleaseFolder
  readonly state: SupervisorState
  readonly log: SupervisorLog
  /** The data folder of the node. */
  readonly data: string
  /** The arguments of `nodekeep start`. */
  readonly args: readonly string[]
  /** The maximum time for a release to start and to be healthy, before clients reach it. */
  readonly trialMs: number
  /** A node that gives no sign of life for this time is killed. */
  readonly answerMs: number
}

/** The exit code of a node that asks to be started again; `exitCodes.restart` of the node. */
const restartCode = 75

/** So many deaths within this time lead back to the former release. */
const deathsToGoBack = 3
const deathsWithinMs = 10 * 60 * 1000

const firstPauseMs = 1000
const longestPauseMs = 60_000

/** The time in which a release on trial may become healthy after its start, and the time between two looks. */
const healthMs = 15_000
const healthEveryMs = 250

/** The time for a node to end whose supervisor has died, and for a command that holds the data folder. */
const dataWaitMs = 60_000

const interrupted = 'The machine or the supervisor was stopped during the change.'

/** A way from the release in use to the one before it. */
type Way = Pick<Change, 'from' | 'fromPath' | 'to' | 'toPath'>

/** Runs the node of the release in use, and changes the release. README.md describes the steps of a change. */
export class Supervisor {
  readonly #parts: SupervisorParts
  readonly #stop = new AbortController()
  #socket = -1
  #node: NodeProcess | null = null
  #deaths: number[] = []
  #crashes = 0

  constructor(parts: SupervisorParts) {
    this.#parts = parts
  }

  /** Ends the node, and then `run`. */
  stop(): void {
    this.#stop.abort()
    this.#node?.askToStop()
  }

  /** Ends the node at once. */
  stopAtOnce(): void {
    this.#node?.kill('SIGKILL')
  }

  /**
   * Completes or undoes a change that was interrupted. Call it before {@link run}.
   *
   * @param failedStarts the number of starts of the release in use that have just failed, one after the other
   * @throws Error with one sentence for people
   */
  async recover(failedStarts: number): Promise<void> {
    const { folder, state, log } = this.#parts
    await this.#dataIsFree()
    await rm(folder.unpacking, { recursive: true, force: true })
    const { change } = state
    switch (change?.step) {
      case 'preparing':
        this.#fail(change, interrupted)
        break
      case 'trial':
      case 'restoring':
        await this.#putBack(change, change.reason ?? interrupted)
        break
      case 'admitting':
        this.#switchTo(change)
        break
      case 'going back':
        this.#completeWayBack(change)
    }
    if (failedStarts === 0) return
    const closed = this.#wayBackClosed()
    const reason = `It did not start ${failedStarts} times, one after the other.`
    if (closed === null) this.#completeWayBack(this.#beginWayBack(reason))
    else log.error(`${reason} ${closed}`)
  }

  /**
   * Runs the node until it ends for good.
   *
   * @param socket the descriptor of the socket on which it listens
   * @returns the exit code for this process
   */
  async run(socket: number): Promise<number> {
    this.#socket = socket
    for (;;) {
      if (this.#stop.signal.aborted) return 0
      this.#node ??= this.#start(this.#current, false)
      const node = this.#node
      const outcome = await this.#watch(node)
      if ('change' in outcome) {
        const { change, patienceMs } = outcome
        if (change.step === 'going back') {
          await node.stop()
          this.#node = null
          this.#completeWayBack(change)
        } else this.#node = await this.#change(node, change, patienceMs)
        continue
      }
      this.#node = null
      const code = await this.#afterEnd(outcome)
      if (code !== null) return code
    }
  }

  get #current(): string {
    const current = this.#parts.folder.target('current')
    if (current !== null) return current
    throw new Error(
      `There is no release at ${join(this.#parts.folder.path, 'current')}. Put it back, or remove the link and run "nodekeep supervise" of another release.`,
    )
  }

  #start(release: string, onTrial: boolean): NodeProcess {
    const { folder, args, answerMs } = this.#parts
    const node = new NodeProcess({
      release,
      args,
      socket: this.#socket,
      releases: folder.path,
      onTrial,
    })
    void node.watch(answerMs)
    return node
  }

  /** Waits until a node ends or asks for another release. */
  async #watch(
    node: NodeProcess,
  ): Promise<NodeEnd | { readonly change: Change; readonly patienceMs: number }> {
    const { state, trialMs } = this.#parts
    const asked = Promise.withResolvers<{ change: Change; patienceMs: number }>()
    node.onRequest((request) => {
      try {
        const change = this.#begin(request)
        node.answer(request, null)
        asked.resolve({ change, patienceMs: request.nodekeep === 'go back' ? 0 : request.patienceMs })
      } catch (error) {
        node.answer(request, messageOf(error))
      }
    })
    const limit = setTimeout(() => {
      if (state.change?.step === 'admitting') node.kill('SIGKILL')
    }, trialMs)
    node.serving.then(() => this.#served())
    try {
      return await Promise.race([node.ended, asked.promise])
    } finally {
      clearTimeout(limit)
    }
  }

  /** Clients reach the node. */
  #served(): void {
    const { folder, state, log } = this.#parts
    rmSync(folder.failedStarts, { force: true })
    const { change } = state
    if (change?.step === 'admitting') {
      log.info(`Version ${change.to} is installed.`)
      this.#end(change, 'installed', null)
    }
    void this.#removeUnused()
  }

  /** @returns the exit code of this process; `null` if the node is to be started again */
  async #afterEnd(end: NodeEnd): Promise<number | null> {
    const { folder, state, log } = this.#parts
    const { code, hasServed, reason, isConfiguration } = end
    if (this.#stop.signal.aborted || code === 0) {
      rmSync(folder.failedStarts, { force: true })
      return code ?? 1
    }
    if (state.change?.step === 'admitting' && this.#wayBackClosed() === null) {
      this.#completeWayBack(this.#beginWayBack(reason))
      return null
    }
    if (code === restartCode) return null
    if (code === 1 && !hasServed) {
      // Another release would not help.
      if (isConfiguration) rmSync(folder.failedStarts, { force: true })
      return 1
    }
    const now = performance.now()
    this.#deaths = [...this.#deaths.filter((time) => now - time < deathsWithinMs), now]
    if (this.#deaths.length === 1) this.#crashes = 0
    if (this.#deaths.length >= deathsToGoBack && this.#wayBackClosed() === null) {
      const why = `It died ${this.#deaths.length} times within ${deathsWithinMs / 60_000} minutes. ${reason}`
      this.#completeWayBack(this.#beginWayBack(why))
      return null
    }
    const pauseMs = Math.min(firstPauseMs * 2 ** this.#crashes, longestPauseMs)
    this.#crashes += 1
    log.error(`The node died: ${reason} It is started again in ${pauseMs / 1000} s.`)
    await delay(pauseMs, undefined, { signal: this.#stop.signal }).catch(() => {})
    return null
  }

  /**
   * Begins what the node asks for.
   *
   * @throws Error with the reason for a refusal
   */
  #begin(request: ReleaseRequest): Change {
    const { folder, state } = this.#parts
    if (state.change !== null || this.#stop.signal.aborted) throw new Error('The release changes already.')
    if (request.nodekeep === 'go back') {
      const closed = this.#wayBackClosed()
      if (closed !== null) throw new Error(closed)
      return this.#beginWayBack(request.reason)
    }
    const { release: to } = request
    const fromPath = this.#current
    const { version: from } = readManifest(fromPath)
    if (from === to) throw new Error(`Version ${to} runs already.`)
    const toPath = folder.folderOf(to)
    if (readManifest(join(folder.unpacking, to)).version !== to) throw new Error(`That is not version ${to}.`)
    const former = folder.target('former')
    // A former attempt may have left it.
    rmSync(toPath, { recursive: true, force: true })
    renameSync(join(folder.unpacking, to), toPath)
    syncFolder(folder.path)
    const change = changeOf('preparing', { from, fromPath, to, toPath }, null)
    // The folder of the former release may just have been replaced.
    if (former === toPath) folder.unlink('former')
    state.enter(change)
    return change
  }

  /**
   * Replaces a running node by another release.
   *
   * @returns the node of that release; `null` if the change has failed and everything is as it was before
   */
  async #change(node: NodeProcess, asked: Change, patienceMs: number): Promise<NodeProcess | null> {
    const { folder, state, log, data } = this.#parts
    const { from, to, toPath } = asked
    log.info(`Version ${to} replaces version ${from}.`)
    const databases = databasesIn(data)
    const change: Change = { ...asked, step: 'trial', databases }
    try {
      await node.stop(patienceMs)
      const lock = lockDataFolder(data)
      try {
        await copyDatabases(data, databases, folder.copiesBefore(to))
      } finally {
        lock.release()
      }
      state.enter(change)
    } catch (error) {
      rmSync(folder.copiesBefore(to), { recursive: true, force: true })
      this.#fail(asked, `The databases could not be copied: ${messageOf(error)}`)
      return null
    }
    const trial = this.#start(toPath, true)
    this.#node = trial
    let reason: string
    try {
      const contractions = await this.#try(trial)
      const closedBy =
        contractions.length === 0
          ? null
          : `Version ${to} has changed data in a way that version ${from} cannot use (${contractions.join(', ')}).`
      const admitting: Change = { ...change, step: 'admitting', closedBy }
      // From now on the copies of the databases are never put back, since clients may have written.
      state.enter(admitting)
      this.#switchTo(admitting)
      trial.admit()
      this.#deaths = []
      return trial
    } catch (error) {
      reason = messageOf(error)
    }
    await trial.stop()
    await this.#putBack(change, reason)
    return null
  }

  /**
   * Waits until a node on trial is healthy.
   *
   * @returns its migrations that the former release cannot undo
   * @throws Error with the reason for a failure, in one sentence
   */
  async #try(trial: NodeProcess): Promise<readonly string[]> {
    const { trialMs } = this.#parts
    const over = new AbortController()
    const failed = Promise.race([
      trial.ended.then(({ reason }) => reason),
      delay(trialMs, `It was not ready within ${trialMs / 1000} s.`, { signal: over.signal }),
      aborted(this.#stop.signal).then(() => interrupted),
    ]).then((reason) => {
      throw new Error(reason)
    })
    failed.catch(() => {})
    try {
      const contractions = await Promise.race([trial.onTrial, failed])
      const began = performance.now()
      for (;;) {
        const { serving, failing } = await Promise.race([trial.health(), failed])
        if (serving) return contractions
        if (performance.now() - began > healthMs) throw new Error(`It is not healthy: ${failing.join(', ')}.`)
        await Promise.race([delay(healthEveryMs), failed])
      }
    } finally {
      over.abort()
    }
  }

  /** Puts the databases back after a trial, which no client has reached. */
  async #putBack(change: Change, reason: string): Promise<void> {
    const { folder, state, data } = this.#parts
    const restoring: Change = { ...change, step: 'restoring', reason }
    try {
      state.enter(restoring)
    } catch {
      // On a full disk the stored step is still that of the trial, after which the same follows.
    }
    folder.link('current', change.fromPath)
    const lock = lockDataFolder(data)
    try {
      await putBackDatabases(data, change.databases, folder.copiesBefore(change.to))
    } finally {
      lock.release()
    }
    this.#fail(restoring, reason)
  }

  /** Makes a release the one in use, and the one that ran before it the former one. */
  #switchTo({ fromPath, toPath }: Change): void {
    const { folder } = this.#parts
    folder.link('former', fromPath)
    folder.link('current', toPath)
  }

  /** Returns the reason why the node cannot go back to the former release; `null` if it can. */
  #wayBackClosed(): string | null {
    const { state } = this.#parts
    const { change, admission } = state
    if (change?.step === 'admitting') return change.closedBy
    if (change !== null) return 'The release changes already.'
    if (admission === null || this.#wayBack() === null) return 'There is no former release to go back to.'
    if (wayBackUntil(admission) === null)
      return `The way back to version ${admission.former} was open for 72 hours.`
    return admission.closedBy
  }

  #wayBack(): Way | null {
    const { folder, state } = this.#parts
    const { change } = state
    const [fromPath, toPath] = [folder.target('current'), folder.target('former')]
    if (fromPath === null || toPath === null) return null
    if (change !== null) return { from: change.to, fromPath, to: change.from, toPath }
    return { from: readManifest(fromPath).version, fromPath, to: readManifest(toPath).version, toPath }
  }

  /** Stores that the node goes back. From now on nothing but a disk that fails prevents it. */
  #beginWayBack(reason: string): Change {
    const way = this.#wayBack()
    if (way === null) throw new Error('There is no former release to go back to.')
    const change = changeOf('going back', way, reason)
    this.#parts.state.enter(change)
    return change
  }

  #completeWayBack(change: Change): void {
    const { folder, log } = this.#parts
    folder.link('current', change.toPath)
    folder.unlink('former')
    this.#deaths = []
    log.warn(
      `Version ${change.to} runs again, with all data. Version ${change.from} was left: ${change.reason}`,
    )
    this.#end(change, 'went back', change.reason)
  }

  #fail(change: Change, reason: string): void {
    this.#parts.log.error(
      `Version ${change.to} was not installed, and version ${change.from} runs again, with its data as it was: ${reason}`,
    )
    this.#end(change, 'failed', reason)
  }

  /** A full disk must not keep the node from running. The next start of the supervisor then repeats the last step. */
  #end(change: Change, result: 'installed' | 'failed' | 'went back', reason: string | null): void {
    try {
      this.#parts.state.end(change, result, reason)
    } catch (error) {
      this.#parts.log.error(`The end of the change could not be stored: ${messageOf(error)}`)
    }
  }

  /** Waits until no node has the data folder. That of a supervisor that was killed ends by itself. */
  async #dataIsFree(): Promise<void> {
    const { data, log } = this.#parts
    const began = performance.now()
    for (let isFirst = true; ; isFirst = false) {
      const holder = lockHolder(data)
      if (holder === null) return
      if (isFirst) log.info(`The process ${holder.pid} still has ${data}.`)
      if (performance.now() - began > dataWaitMs || this.#stop.signal.aborted) {
        throw new Error(`Another node (process ${holder.pid}) uses ${data}. Stop it, and start again.`)
      }
      await delay(100)
    }
  }

  /** Removes releases that are not in use any more, and copies of databases, while the node serves. */
  async #removeUnused(): Promise<void> {
    const { folder, state, log } = this.#parts
    try {
      for (const path of folder.unused()) {
        if (state.change !== null) return
        await rm(path, { recursive: true, force: true })
      }
    } catch (error) {
      log.warn(`Former releases could not be removed: ${messageOf(error)}`)
    }
  }
}

function changeOf(step: Change['step'], way: Way, reason: string | null): Change {
  const { from, fromPath, to, toPath } = way
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

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
