import type { Log } from '@nodekeep/plugin-sdk'
import { chooseSandbox, lastToShare } from './choose-sandbox.ts'
import { endOverdue } from './end-overdue.ts'
import { runtimeStopped, sandboxDied } from './failures.ts'
import { Keeper } from './keeper.ts'
import { longRunsOf, orderOf, tooManyLongRuns, withOneMore } from './long-runs.ts'
import { causeOfDeath, takeUnanswered } from './post-mortem.ts'
import { yieldToOthers } from './process-figures.ts'
import { neededSandbox } from './provision.ts'
import type { Run } from './run.ts'
import { RunHistory } from './run-history.ts'
import { Sandbox, type SandboxEvents } from './sandbox.ts'
import type { Step } from './step.ts'
import { Watch } from './watch.ts'

export interface PoolSettings {
  /** Most processes at once. */
  readonly processes: number
  readonly idleMs: number
  readonly cachedModules: number
  readonly cachedBytes: number
  readonly log: Log
}

/** A run that took so many milliseconds has no others behind it the next time. */
const slowMs = 5
/** After so many sandboxes that could not be started, those who wait for one are refused. */
const mostStarts = 3

/** The sandboxes, and the runs that wait for one. */
export class Pool {
  readonly #settings: PoolSettings
  readonly #sandboxes = new Set<Sandbox>()
  readonly #history = new RunHistory()
  readonly #keeper: Keeper
  readonly #watch: Watch
  readonly #events: SandboxEvents
  #line: Run[] = []
  /** How many sandboxes in a row could not be started. */
  #failedStarts = 0
  #stopping: PromiseWithResolvers<void> | null = null

  constructor(settings: PoolSettings) {
    this.#settings = settings
    this.#keeper = new Keeper(settings.log)
    this.#watch = new Watch(this.#sandboxes, settings.idleMs, {
      heldUp: (sandbox, step) => this.#heldUp(sandbox, step),
      overdue: endOverdue,
      unneeded: (sandbox) => sandbox.end(),
    })
    this.#events = {
      ready: (sandbox) => {
        this.#failedStarts = 0
        this.#drain(sandbox)
      },
      answered: (sandbox, step, ms) => this.#answered(sandbox, step, ms),
      returned: (runs) => this.#again(runs),
      ended: (sandbox) => this.#ended(sandbox),
    }
  }

  begin(run: Run): void {
    if (this.#stopping !== null) {
      run.reject(runtimeStopped())
      return
    }
    const sandbox = this.#place(run)
    if (sandbox === null) this.#line.push(run)
    this.#watch.begin()
    // Behind another run nothing has changed.
    if (sandbox === null || sandbox.load === 1) this.#provide()
  }

  /** Ends a run. Where others wait behind it, it goes on until it turns out to take long. */
  abort(run: Run, reason: unknown): void {
    run.reject(reason)
    this.#line = this.#line.filter((waiting) => waiting !== run)
    this.#watch.soon()
  }

  async stop(): Promise<void> {
    this.#stopping ??= Promise.withResolvers()
    const runs = [...this.#line, ...[...this.#sandboxes].flatMap(takeUnanswered)]
    this.#line = []
    for (const run of runs) run.reject(runtimeStopped())
    for (const sandbox of this.#sandboxes) sandbox.end()
    if (this.#sandboxes.size > 0) await this.#stopping.promise
    this.#watch.stop()
    await this.#keeper.stop()
  }

  /** @returns the sandbox that has it now; null when there is none for it */
  #place(run: Run): Sandbox | null {
    const expectation = this.#history.expects(run)
    if (expectation === 'long' && this.#tooMany(run, 1)) return null
    const mayBeLast = expectation === 'short' || (expectation === 'unknown' && !this.#history.shortLately)
    const reserved = mayBeLast ? null : lastToShare(this.#sandboxes, run.limits)
    const sandbox = chooseSandbox(this.#sandboxes, run, expectation, reserved)
    if (sandbox === null) return null
    sandbox.take(run, expectation)
    this.#watch.begin()
    return sandbox
  }

  /** Whether there are too many long runs, with so many more of the caller of this one. */
  #tooMany({ caller }: Run, more: 0 | 1): boolean {
    const running = longRunsOf(this.#sandboxes)
    const counted = more === 0 ? running : withOneMore(running, caller)
    return tooManyLongRuns(counted, caller, this.#settings.processes)
  }

  /** @param occasion the sandbox that there is news of */
  #drain(occasion: Sandbox | null = null): void {
    if (this.#line.length > 0) {
      const waiting = this.#line.filter(({ settled }) => !settled)
      const inOrder = orderOf(waiting, longRunsOf(this.#sandboxes), this.#history)
      this.#line = inOrder.filter((run) => this.#place(run) === null)
    }
    this.#provide(occasion)
  }

  #again(runs: readonly Run[], occasion: Sandbox | null = null): void {
    const left = runs.filter(({ settled }) => !settled)
    if (this.#stopping !== null) for (const run of left) run.reject(runtimeStopped())
    else this.#line = [...left, ...this.#line]
    this.#watch.begin()
    this.#drain(occasion)
  }

  #provide(occasion: Sandbox | null = null): void {
    if (this.#stopping !== null) return
    const needed = neededSandbox({
      sandboxes: [...this.#sandboxes],
      line: this.#line,
      occasion,
      longRuns: this.#history.anyLong,
      most: this.#settings.processes,
    })
    if (needed !== null && 'end' in needed) needed.end.end()
    if (needed === null || 'end' in needed) return
    const { cachedModules, cachedBytes } = this.#settings
    const sandbox = new Sandbox(
      needed.memoryBytes,
      { modules: cachedModules, bytes: cachedBytes },
      this.#events,
    )
    this.#sandboxes.add(sandbox)
    this.#keeper.keep(sandbox.process.pid)
  }

  #heldUp(sandbox: Sandbox, head: Step): void {
    sandbox.yields ||= yieldToOthers(sandbox.process.pid, true)
    // Only who wants the module waits for its loading, and would have it loaded elsewhere.
    if (head.kind === 'load') return
    if (sandbox.exclusive || sandbox.proving !== null) this.#history.note(head.run, 'long')
    else this.#history.noteHeldUp(head.run)
    sandbox.exclusive = true
    const moving = sandbox.steps.filter((step) => step !== head && !step.moved)
    // Nothing of it can be seen from outside, so that it may begin anew when its turn comes.
    if (!head.moved && this.#tooMany(head.run, 0)) {
      head.run.putBack = true
      moving.unshift(head)
      sandbox.end()
    }
    for (const step of moving) step.moved = true
    this.#again(moving.map((step) => step.run))
  }

  #answered(sandbox: Sandbox, step: Step, ms: number): void {
    const short = ms <= slowMs
    if (step.kind !== 'load') this.#history.note(step.run, short ? 'short' : 'long', sandbox.usedAt)
    sandbox.weighed &&= short
    // What has shown to be short may have others behind it.
    const shown = sandbox.proving !== null && step.kind !== 'load' && short
    if (shown) sandbox.proving = null
    if (sandbox.busy && (!shown || this.#line.length === 0)) return
    if (!sandbox.busy && sandbox.yields) this.#hurry(sandbox)
    this.#drain()
  }

  /** Lets a sandbox compete again, or ends it where that is not allowed and another one is there that yields. */
  #hurry(sandbox: Sandbox): void {
    sandbox.yields = !yieldToOthers(sandbox.process.pid, false)
    if (!sandbox.yields) return
    const others = [...this.#sandboxes].some((other) => other !== sandbox && other.yields && !other.busy)
    if (others) sandbox.end()
  }

  #ended(sandbox: Sandbox): void {
    this.#sandboxes.delete(sandbox)
    this.#keeper.drop(sandbox.process.pid)
    const [head] = sandbox.steps
    const { exit } = sandbox.process
    if (head !== undefined && !head.moved && !head.run.settled) {
      const cause = causeOfDeath(sandbox, head.run.limits)
      if (cause !== null) endOverdue(sandbox, cause)
      else head.run.deaths += 1
      if (head.run.deaths > 1) head.run.reject(sandboxDied(exit))
    }
    if (!sandbox.ready) this.#failedStart(sandbox)
    if (this.#sandboxes.size === 0) this.#stopping?.resolve()
    this.#again(takeUnanswered(sandbox), head === undefined ? null : sandbox)
  }

  /** Lets nobody wait any longer for a sandbox when none can be started. */
  #failedStart({ process: { exit, complaint } }: Sandbox): void {
    if (this.#stopping !== null) return
    this.#failedStarts += 1
    this.#settings.log.error({ exit, complaint }, 'a sandbox could not be started')
    if (this.#failedStarts < mostStarts) return
    this.#failedStarts = 0
    for (const run of this.#line.splice(0)) run.reject(sandboxDied(exit))
  }
}
