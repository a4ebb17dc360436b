import { memoryLimitReached, timeLimitReached } from './failures.ts'
import { isBloated, takesTooMuch } from './memory-share.ts'
import { processorTimes } from './process-figures.ts'
import type { Sandbox } from './sandbox.ts'
import type { Step } from './step.ts'

/** How often sandboxes at work are looked at, in milliseconds; before a limit is reached, once more at that time. */
const everyMs = 10
/** A look that comes later than after so long shows that the machine stood still, and its sandboxes with it. */
const longestGapMs = 50
/** A sandbox that needs longer to start never will. */
const longestStartMs = 30_000
/** After so long a sandbox has given back what it does not need. */
const settlingMs = 50
/** So many sandboxes may rest: one to be used next, and two that stand by it. Others were for a crowd that has left, */
const mostResting = 3
/** after so long; while calls keep coming after longer, for the next that takes long would need them again. */
const leftMs = 500
const leftInUseMs = 10_000
/** A run that takes so long holds others up. */
const runPatienceMs = 10
/** So long may loading take: it is done once, and only those wait for it who want the module too. */
const loadPatienceMs = 150
/** And so many times as long may take what has hardly had the processor. */
const sleepers = 10
/** A run's waits for a processor don't count, up to so many milliseconds in all, */
const excusedMs = 15
/** and up to its limit once more as long as it has had the processor for less than this share of the limit. */
const leastShare = 0.25

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
  /** Milliseconds until the next look. */
  #nextMs = everyMs

  constructor(sandboxes: ReadonlySet<Sandbox>, idleMs: number, events: WatchEvents) {
    this.#sandboxes = sandboxes
    this.#idleMs = idleMs
    this.#events = events
  }

  begin(): void {
    this.#timer ??= setTimeout(() => this.soon(), this.#nextMs)
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
    this.#nextMs = everyMs
    const now = performance.now()
    for (const sandbox of this.#sandboxes) {
      sandbox.giveUpFetching()
      const [step] = sandbox.steps
      if (sandbox.doomed) continue
      if (step !== undefined) this.#inspect(sandbox, step, now)
      else if (!sandbox.busy) this.#inspectIdle(sandbox, now)
    }
    this.#endSurplus(now)
    if ([...this.#sandboxes].some(({ busy, weighed }) => busy || !weighed)) this.begin()
    else if (this.#resting().length > mostResting) this.#timer = setTimeout(() => this.soon(), leftMs / 4)
    else if (this.#sandboxes.size > 0) {
      this.#idleTimer = setTimeout(() => this.soon(), this.#idleMs / 4)
      this.#idleTimer.unref()
    }
  }

  #endSurplus(now: number): void {
    const resting = this.#resting()
    if (resting.length <= mostResting) return
    const inUse = [...this.#sandboxes].some(({ busy, usedAt }) => busy || now - usedAt < leftMs)
    const patience = inUse ? leftInUseMs : leftMs
    const surplus = resting.sort((a, b) => b.usedAt - a.usedAt).slice(mostResting)
    for (const sandbox of surplus) if (now - sandbox.usedAt >= patience) this.#events.unneeded(sandbox)
  }

  #resting(): Sandbox[] {
    return [...this.#sandboxes].filter(({ busy, doomed }) => !busy && !doomed)
  }

  #inspectIdle(sandbox: Sandbox, now: number): void {
    const idleMs = now - sandbox.usedAt
    if (idleMs >= (sandbox.ready ? this.#idleMs : longestStartMs)) this.#events.unneeded(sandbox)
    if (sandbox.weighed || idleMs < settlingMs) return
    sandbox.weighed = true
    if (isBloated(sandbox)) this.#events.unneeded(sandbox)
  }

  #inspect(sandbox: Sandbox, step: Step, now: number): void {
    if (now - step.began < everyMs / 2) return
    const times = processorTimes(sandbox.process.pid) ?? { hadMs: now, waitedMs: 0 }
    const { seen } = step
    // Perhaps it was the node that had no processor: it sees a step twice before it judges.
    if (seen === null) {
      step.seen = { at: now, elapsedMs: Math.min(now - step.began, everyMs), before: times }
      return
    }
    seen.elapsedMs += Math.min(now - seen.at, longestGapMs)
    seen.at = now
    const { limits } = step.run
    // On a busy machine the innocent take long, too. As do crowds of the others, who keep it busy.
    const took = seen.elapsedMs - (times.waitedMs - seen.before.waitedMs)
    const excused = took < limits.timeoutMs * leastShare ? limits.timeoutMs : excusedMs
    const leftMs = limits.timeoutMs - Math.max(took, seen.elapsedMs - excused)
    if (leftMs > 0) this.#nextMs = Math.max(1, Math.min(this.#nextMs, leftMs))
    if (leftMs <= 0) {
      this.#events.overdue(sandbox, timeLimitReached(limits))
    } else if (takesTooMuch(sandbox)) {
      this.#events.overdue(sandbox, memoryLimitReached(limits))
    } else if (sandbox.steps.every(({ run, moved }) => run.settled || moved)) {
      this.#events.overdue(sandbox, null)
    } else if (!step.holding && holdsUp(step.kind, took, times.hadMs - seen.before.hadMs)) {
      step.holding = true
      this.#events.heldUp(sandbox, step)
    }
  }
}

/** Who hardly had the processor either waits for it, or sleeps, which shows when it goes on. */
function holdsUp(kind: Step['kind'], tookMs: number, hadMs: number): boolean {
  const patience = kind === 'load' ? loadPatienceMs : runPatienceMs
  return tookMs >= patience && (hadMs >= patience / 2 || tookMs >= patience * sleepers)
}
