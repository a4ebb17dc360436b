import { memoryLimitReached, timeLimitReached } from './failures.ts'
import { isBloated, takesTooMuch } from './memory-share.ts'
import { waitedMs } from './process-figures.ts'
import type { Sandbox } from './sandbox.ts'
import type { Step } from './step.ts'

/** How often sandboxes at work are looked at, in milliseconds. */
const everyMs = 10
/** A sandbox that needs longer to start never will. */
const longestStartMs = 30_000
/** After so long a sandbox has given back what it does not need. */
const settlingMs = 50
/** A run that takes so long holds others up. */
const runPatienceMs = 10
/** So long may loading take: it is done once, and only those wait for it who want the module too. */
const loadPatienceMs = 150
/** How much later than at its limit a run ends on a machine that has no processor for it, as a multiple of the limit. */
const mostStretch = 2

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
    const elapsed = now - step.began
    if (elapsed < everyMs / 2) return
    const waited = waitedMs(sandbox.process.pid) ?? 0
    // Perhaps it was the node that had no processor: it sees a step twice before it judges.
    if (step.seen === null) {
      step.seen = { at: now, waitedMs: waited }
      return
    }
    const { limits } = step.run
    // On a busy machine the innocent take long, too.
    const took =
      Math.min(step.seen.at - step.began, everyMs) + now - step.seen.at - (waited - step.seen.waitedMs)
    if (took >= limits.timeoutMs || elapsed >= limits.timeoutMs * mostStretch) {
      this.#events.overdue(sandbox, timeLimitReached(limits))
    } else if (takesTooMuch(sandbox)) {
      this.#events.overdue(sandbox, memoryLimitReached(limits))
    } else if (sandbox.steps.every(({ run, moved }) => run.settled || moved)) {
      this.#events.overdue(sandbox, null)
    } else if (!step.holding && took >= (step.kind === 'load' ? loadPatienceMs : runPatienceMs)) {
      step.holding = true
      this.#events.heldUp(sandbox, step)
    }
  }
}
