import type { Log } from '@nodekeep/plugin-sdk'
import { chooseSandbox } from './choose.ts'
import { runtimeStopped, sandboxDied } from './failures.ts'
import { Keeper } from './keeper.ts'
import { causeOfDeath } from './post-mortem.ts'
import { yieldToOthers } from './process-figures.ts'
import type { Run } from './run.ts'
import { Sandbox, type SandboxEvents } from './sandbox.ts'
import { SlowModules } from './slow-modules.ts'
import type { Step } from './step.ts'
import { Watch } from './watch.ts'

export interface PoolSettings {
  /** Most processes at once. */
  readonly processes: number
  readonly idleMs: number
  readonly cachedModules: number
  readonly cachedBytes: number
  /** The section of the configuration, for messages. */
  readonly section: string
  readonly log: Log
}

/** A run of a module that took so long has no others behind it the next time. */
const slowMs = 5
/** Processes that are kept from runs which are known to take long. */
const reserved = 2

/** The sandboxes, and the runs that wait for one. */
export class Pool {
  readonly #settings: PoolSettings
  readonly #sandboxes = new Set<Sandbox>()
  readonly #slowModules = new SlowModules()
  readonly #keeper: Keeper
  readonly #watch: Watch
  readonly #events: SandboxEvents
  #line: Run[] = []
  #stopped: (() => void) | null = null

  constructor(settings: PoolSettings) {
    this.#settings = settings
    this.#keeper = new Keeper(settings.log)
    this.#watch = new Watch(this.#sandboxes, settings.idleMs, (sandbox, moved) => {
      const [step] = sandbox.steps
      if (step !== undefined) this.#slowModules.note(step.run.module.hash, true)
      this.#again(moved)
    })
    this.#events = {
      ready: () => this.#drain(),
      answered: (sandbox, step, ms) => this.#answered(sandbox, step, ms),
      returned: (runs) => this.#again(runs),
      ended: (sandbox) => this.#ended(sandbox),
    }
  }

  begin(run: Run): void {
    if (this.#stopped !== null) run.reject(runtimeStopped())
    else if (!this.#place(run)) this.#line.push(run)
    else return
    this.#provide()
  }

  abort(run: Run, reason: unknown): void {
    run.reject(reason)
    this.#line = this.#line.filter((waiting) => waiting !== run)
    // Where others wait behind it, it is only stopped when it turns out to take long.
    for (const sandbox of this.#sandboxes) {
      if (sandbox.steps.length > 0 && sandbox.steps.every((step) => step.run.settled)) this.#watch.soon()
    }
  }

  async stop(): Promise<void> {
    const ended = new Promise<void>((resolve) => {
      this.#stopped = resolve
    })
    for (const run of this.#line) run.reject(runtimeStopped())
    this.#line = []
    for (const sandbox of this.#sandboxes) {
      for (const { run } of sandbox.steps) run.reject(runtimeStopped())
      for (const run of sandbox.takeWaiting()) run.reject(runtimeStopped())
      sandbox.kill('the node stops')
    }
    if (this.#sandboxes.size > 0) await ended
    this.#watch.stop()
    this.#keeper.stop()
  }

  #place(run: Run): boolean {
    const alone = run.deaths > 0 || this.#slowModules.has(run.module.hash)
    if (alone && this.#held() >= this.#settings.processes - reserved) return false
    const sandbox = chooseSandbox(this.#sandboxes, run, alone)
    if (sandbox === null) return false
    sandbox.take(run)
    this.#watch.begin()
    return true
  }

  /** How many sandboxes are with a run that takes long. */
  #held(): number {
    let held = 0
    for (const sandbox of this.#sandboxes) if (sandbox.busy && sandbox.slow) held += 1
    return held
  }

  #drain(): void {
    if (this.#line.length > 0) {
      const line = this.#line
      this.#line = []
      for (const run of line) if (!this.#place(run)) this.#line.push(run)
    }
    this.#provide()
  }

  #again(runs: readonly Run[]): void {
    this.#line.unshift(...runs.filter(({ settled }) => !settled))
    this.#drain()
  }

  /** Has one sandbox more than there is work for, so that the next run need not wait for its start. */
  #provide(): void {
    if (this.#stopped !== null) return
    const memoryBytes = this.#line[0]?.limits.memoryBytes ?? [...this.#sandboxes].at(-1)?.memoryBytes
    if (memoryBytes === undefined) return
    const idle = [...this.#sandboxes].filter(
      (sandbox) => !sandbox.busy && !sandbox.slow && sandbox.memoryBytes === memoryBytes,
    )
    if (idle.length > 0) return
    if (this.#sandboxes.size >= this.#settings.processes) return
    const { cachedModules, cachedBytes } = this.#settings
    const sandbox = new Sandbox(memoryBytes, { modules: cachedModules, bytes: cachedBytes }, this.#events)
    this.#sandboxes.add(sandbox)
    if (sandbox.pid !== undefined) this.#keeper.keep(sandbox.pid)
  }

  #answered(sandbox: Sandbox, step: Step, ms: number): void {
    if (step.kind !== 'load') this.#slowModules.note(step.run.module.hash, ms > slowMs)
    if (sandbox.busy) return
    if (sandbox.slow && sandbox.pid !== undefined) sandbox.slow = !yieldToOthers(sandbox.pid, false)
    this.#drain()
  }

  #ended(sandbox: Sandbox): void {
    this.#sandboxes.delete(sandbox)
    if (sandbox.pid !== undefined) this.#keeper.drop(sandbox.pid)
    const [head, ...behind] = sandbox.steps
    if (head !== undefined) this.#judge(sandbox, head)
    else if (sandbox.killedFor === null) this.#settings.log.warn({ exit: sandbox.exit }, 'a sandbox ended')
    const runs = [...(head === undefined ? [] : [head]), ...behind].flatMap((step) =>
      step.moved || step.run.settled || step.kind === 'load' ? [] : [step.run],
    )
    if (this.#stopped !== null && this.#sandboxes.size === 0) this.#stopped()
    this.#again([...runs, ...sandbox.takeWaiting()])
  }

  /** Ends the run that a sandbox died of, or lets it be tried once more. */
  #judge(sandbox: Sandbox, { run }: Step): void {
    const cause = causeOfDeath(sandbox, run.limits)
    if (cause !== null) run.reject(cause)
    if (run.settled) return
    run.deaths += 1
    this.#settings.log.warn({ exit: sandbox.exit }, 'a sandbox ended in the middle of a run')
    if (run.deaths > 1) run.reject(sandboxDied(sandbox.exit))
  }
}
