import { setTimeout as delay } from 'node:timers/promises'
import { lockHolder } from '@nodekeep/plugin-sdk/data-folder'
import { messageOf } from '@nodekeep/plugin-sdk/supervision'
import { type NodeEnd, NodeProcess } from './node-process.ts'
import type { ChangeOptions, ReleaseChanges } from './release-changes.ts'
import { forgetFailedStarts, type ReleaseFolder } from './release-folder.ts'
import type { SupervisorLog } from './supervisor-log.ts'
import type { Change } from './supervisor-state.ts'

interface SupervisorOptions {
  /** The data folder of the node. */
  readonly data: string
  /** The arguments of `nodekeep start`. */
  readonly args: readonly string[]
  /** The maximum time for a release that clients are let into to serve. */
  readonly trialMs: number
  /** A node that gives no sign of life for this time is killed. */
  readonly answerMs: number
}

/** A change that the node or a person has asked for and that has begun. */
export interface AskedChange extends Pick<ChangeOptions, 'drainMs' | 'withoutRollback'> {
  readonly change: Change
}

/** The exit code of a node that asks to be started again; `exitCodes.restart` of the node. */
const restartCode = 75

/** After this number of deaths within this time, the node goes back to the former release. */
const deathsToGoBack = 3
const deathsWithinMs = 10 * 60 * 1000

const firstPauseMs = 1000
const longestPauseMs = 60_000

/** The time for which the supervisor runs is counted in steps of this length. */
const countedMs = 10 * 60_000

/** The time for a node to end whose supervisor has died, and for a command that holds the data folder. */
const dataWaitMs = 60_000

/** Runs the node of the release in use: starts it, watches it, and starts it again or goes back when it dies. */
export class Supervisor {
  readonly #folder: ReleaseFolder
  readonly #changes: ReleaseChanges
  readonly #log: SupervisorLog
  readonly #options: SupervisorOptions
  readonly #stop = new AbortController()
  #socket = -1
  #node: NodeProcess | null = null
  /** The times of the deaths of the release in use that count. */
  #deaths: number[] = []

  constructor(
    folder: ReleaseFolder,
    changes: ReleaseChanges,
    log: SupervisorLog,
    options: SupervisorOptions,
  ) {
    this.#folder = folder
    this.#changes = changes
    this.#log = log
    this.#options = options
  }

  /** Ends the node, and then `run`. */
  stop(): void {
    this.#stop.abort()
    this.#node?.askToStop()
  }

  /** Ends the node at once. */
  stopAtOnce(): void {
    this.#node?.kill()
  }

  /**
   * Completes or undoes a change that was interrupted. Call it before {@link run}.
   *
   * @throws Error with one sentence for people
   */
  async recover(): Promise<void> {
    await this.#dataIsFree()
    await this.#changes.recover()
  }

  /**
   * Runs the node until it ends for good.
   *
   * @param socket the descriptor of the socket on which it listens
   * @param first a change that has begun already, to carry out before a node runs
   * @returns the exit code for this process
   */
  async run(socket: number, first: AskedChange | null): Promise<number> {
    this.#socket = socket
    const count = setInterval(() => void this.#changes.ran(countedMs), countedMs)
    count.unref()
    if (first !== null) await this.#carryOut(first)
    while (!this.#stop.signal.aborted) {
      const node = this.#node ?? this.#start(this.#folder.inUse(), false)
      const outcome = await this.#watch(node)
      if ('change' in outcome) {
        await this.#carryOut(outcome)
        continue
      }
      this.#node = null
      const code = await this.#afterEnd(outcome)
      if (code !== null) return code
    }
    return 0
  }

  async #carryOut({ change, ...asked }: AskedChange): Promise<void> {
    this.#node = await this.#changes.carryOut(this.#node, change, {
      ...asked,
      startTrial: (release) => this.#start(release, true),
      stopped: this.#stop.signal,
    })
    this.#deaths = []
  }

  #start(release: string, onTrial: boolean): NodeProcess {
    const { args, answerMs } = this.#options
    const node = new NodeProcess({
      release,
      args,
      socket: this.#socket,
      releases: this.#folder.path,
      onTrial,
      log: this.#log,
    })
    void node.watch(answerMs)
    this.#node = node
    return node
  }

  /** Waits until a node ends, or until a change that it asks for has begun. */
  async #watch(node: NodeProcess): Promise<NodeEnd | AskedChange> {
    const { trialMs } = this.#options
    const asked = Promise.withResolvers<AskedChange>()
    node.onRequest((request) => {
      try {
        if (this.#stop.signal.aborted) throw new Error('The node is stopping.')
        const change = this.#changes.begin(request)
        node.answer(request, null)
        const isBack = request.nodekeep === 'go back'
        asked.resolve({
          change,
          drainMs: isBack ? 0 : request.patienceMs,
          withoutRollback: isBack || request.withoutWayBack,
        })
      } catch (error) {
        node.answer(request, messageOf(error))
      }
    })
    const limit = setTimeout(() => this.#changes.isAdmitting && node.kill(), trialMs)
    node.serving.then(() => {
      forgetFailedStarts(this.#folder.path)
      void this.#changes.served()
    })
    try {
      return await Promise.race([node.ended, asked.promise])
    } finally {
      clearTimeout(limit)
    }
  }

  /** @returns the exit code of this process; `null` if the node is to be started again */
  async #afterEnd({ code, hasServed, reason, isConfiguration }: NodeEnd): Promise<number | null> {
    if (this.#stop.signal.aborted) return code ?? 1
    if (this.#changes.isAdmitting && this.#goBack(reason) === null) return null
    if (code === restartCode) return null
    // Another release would not help, or there is none. Then what keeps the node from starting has to be mended first.
    const isStuck = isConfiguration || this.#changes.rollback.whyNoRollback() !== null
    if (code === 1 && !hasServed && isStuck) {
      if (!isConfiguration) this.#changes.nameCopies()
      return 1
    }
    // Nobody has asked the node to end, so the code 0 is a death as well.
    const now = performance.now()
    this.#deaths = [...this.#deaths.filter((time) => now - time < deathsWithinMs), now]
    const { length: count } = this.#deaths
    const often = `It died ${count} times within ${deathsWithinMs / 60_000} minutes.`
    if (count >= deathsToGoBack && this.#goBack(`${often} ${reason}`) === null) return null
    const pauseMs = Math.min(firstPauseMs * 2 ** (count - 1), longestPauseMs)
    this.#log.error(`The node died: ${reason} It is started again in ${pauseMs / 1000} s.`)
    await delay(pauseMs, undefined, { signal: this.#stop.signal }).catch(() => {})
    return null
  }

  /**
   * Goes back to the former release, while no node runs.
   *
   * @returns the reason why no rollback is possible; `null` if the node has gone back
   */
  #goBack(reason: string): string | null {
    const problem = this.#changes.rollback.go(reason)
    if (problem === null) this.#deaths = []
    return problem
  }

  /** Waits until no node has the data folder. That of a supervisor that was killed ends by itself. */
  async #dataIsFree(): Promise<void> {
    const { data } = this.#options
    const began = performance.now()
    for (let isFirst = true; ; isFirst = false) {
      const holder = lockHolder(data)
      if (holder === null) return
      if (isFirst) this.#log.info(`The process ${holder.pid} still has ${data}.`)
      if (performance.now() - began > dataWaitMs || this.#stop.signal.aborted) {
        throw new Error(`Another node (process ${holder.pid}) uses ${data}. Stop it, and start again.`)
      }
      await delay(100)
    }
  }
}
