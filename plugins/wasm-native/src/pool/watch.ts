import { memoryLimitReached, timeLimitReached } from './failures.ts'
import { isBloated, takesTooMuch } from './memory-share.ts'
import { processorMs } from './process-figures.ts'
import type { Sandbox } from './sandbox.ts'
import type { Step } from './step.ts'

/** How often sandboxes at work are looked at, in milliseconds. */
const everyMs = 10
/** A sandbox that needs longer to start never will. */
const longestStartMs = 30_000
/** After so long a sandbox has given back what it does not need. */
const settlingMs = 50
/** A run that has had the processor for so long holds others up. */
const runPatienceMs = 10
/** So long may loading take: it is done once, and only those wait for it who want the module too. */
const loadPatienceMs = 150
/** Where there is no processor to be had, or no saying who had it, others have been held up for long enough after: */
const longestPatienceMs = 100

/** What is to be done about a sandbox. */
export interface WatchEvents {
  /** Its first step takes long. */
  heldUp(sandbox: Sandbox, step: Step): void
  /** Its first step has to be ended; with a reason that its caller is told, if one still waits. */
  overdue(sandbox: Sandbox, reason: Error | null): void
  /** It may end: nobody needed it for long, or it has grown too large to be of use. */
  unneeded(sandbox: Sandbox): void
}

/** Looks after sandboxes that take long. */
export class Watch {
  readonly #sandboxes: ReadonlySet<Sandbox>
  readonly #idleMs: number
  readonly #events: WatchEvents
  #timer: NodeJS.Timeout | undefined
  #idleTimer: NodeJS.Timeout | undefined

  constructor(sandboxes: ReadonlySet<Sandbox>, idleMs: number, events: WatchEvents) {
    this.#sandboxes = sandboxes
    this.#idleMs = idleMs
    this.#events = events
  }

  begin(): void {
    this.#timer ??= setTimeout(() => this.soon(), everyMs)
  }

  /** Looks once the answers that have come are read: perhaps it was the node that was late. */
  soon(): void {
    setImmediate(() => this.#look())
  }

  stop(): void {
    clearTimeout(this.#timer)
    clearTimeout(this.#idleTimer)
    this.#timer = undefined
  }

  #look(): void {
    this.stop()
    const now = performance.now()
    for (const sandbox of this.#sandboxes) {
      sandbox.giveUpFetching()
      const [step] = sandbox.steps
      if (sandbox.doomed) continue
      if (step !== undefined) this.#inspect(sandbox, step, now)
      else if (!sandbox.busy) this.#inspectIdle(sandbox, now)
    }
    if ([...this.#sandboxes].some(({ busy, weighed }) => busy || !weighed)) this.begin()
    else if (this.#sandboxes.size > 0) {
      this.#idleTimer = setTimeout(() => this.soon(), this.#idleMs / 4)
      this.#idleTimer.unref()
    }
  }

  #inspectIdle(sandbox: Sandbox, now: number): void {
    const idleMs = now - sandbox.usedAt
    if (idleMs >= (sandbox.ready ? this.#idleMs : longestStartMs)) this.#events.unneeded(sandbox)
    if (sandbox.weighed || idleMs < settlingMs) return
    sandbox.weighed = true
    if (isBloated(sandbox)) this.#events.unneeded(sandbox)
  }

  #inspect(sandbox: Sandbox, step: Step, now: number): void {
    const { limits } = step.run
    const elapsed = now - step.began
    if (elapsed < everyMs / 2) return
    const { pid } = sandbox.process
    if (elapsed >= limits.timeoutMs) this.#events.overdue(sandbox, timeLimitReached(limits))
    else if (takesTooMuch(sandbox)) {
      this.#events.overdue(sandbox, memoryLimitReached(limits))
    } else if (sandbox.steps.every(({ run, moved }) => run.settled || moved)) {
      this.#events.overdue(sandbox, null)
    } else if (!sandbox.exclusive && takesLong(step, elapsed, pid)) this.#events.heldUp(sandbox, step)
  }
}

/** Judges by the processor's time, where that is known: on a busy machine the innocent take long too. */
function takesLong(step: Step, elapsed: number, pid: number | undefined): boolean {
  const patience = step.kind === 'load' ? loadPatienceMs : runPatienceMs
  const used = processorMs(pid)
  if (used === null || elapsed > patience + longestPatienceMs) return elapsed > patience * 2
  step.suspectedAt ??= used
  return used - step.suspectedAt >= patience
}
