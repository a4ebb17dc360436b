import { memoryLimitReached, timeLimitReached } from './failures.ts'
import { processorMs, residentBytes, yieldToOthers } from './process-figures.ts'
import type { Run } from './run.ts'
import type { Sandbox } from './sandbox.ts'
import type { Step } from './step.ts'

/** How often running sandboxes are looked at, in milliseconds. */
const everyMs = 10
/** A step that has had the processor for so long since it was first suspected holds others up. */
const patienceMs = 10
/** Where that can't be known, or there is no processor to be had: how long it may take. */
const longPatienceMs = 100
/** What a sandbox takes beside the memories and tables of modules. */
const ownBytes = 192 * 2 ** 20

/** Looks after sandboxes that take long: gives what waits behind them to others, and ends them at their limits. */
export class Watch {
  readonly #sandboxes: ReadonlySet<Sandbox>
  readonly #idleMs: number
  readonly #held: (sandbox: Sandbox, moved: readonly Run[]) => void
  #timer: NodeJS.Timeout | undefined

  /** @param held told of a sandbox that is held up by its first step, and the runs behind that */
  constructor(
    sandboxes: ReadonlySet<Sandbox>,
    idleMs: number,
    held: (sandbox: Sandbox, moved: readonly Run[]) => void,
  ) {
    this.#sandboxes = sandboxes
    this.#idleMs = idleMs
    this.#held = held
  }

  begin(): void {
    this.#timer ??= setTimeout(() => this.soon(), everyMs)
  }

  /** Looks as soon as the answers that have already come are read: the node itself may have been busy. */
  soon(): void {
    setImmediate(() => this.#look())
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  #look(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const now = performance.now()
    let busy = false
    for (const sandbox of this.#sandboxes) {
      sandbox.giveUpFetching()
      const [step] = sandbox.steps
      if (step !== undefined) this.#inspect(sandbox, step, now)
      else if (!sandbox.busy && now - sandbox.usedAt > this.#idleMs) sandbox.kill('it was idle')
      busy ||= sandbox.busy
    }
    if (busy) this.begin()
    else if (this.#sandboxes.size > 0) this.#timer = setTimeout(() => this.soon(), this.#idleMs / 4).unref()
  }

  #inspect(sandbox: Sandbox, step: Step, now: number): void {
    const { run } = step
    const elapsed = now - step.began
    if (elapsed < everyMs / 2 || sandbox.killedFor !== null || sandbox.pid === undefined) return
    if (elapsed >= run.limits.timeoutMs) {
      run.reject(timeLimitReached(run.limits))
      sandbox.kill('time limit')
    } else if ((residentBytes(sandbox.pid) ?? 0) > sandbox.memoryBytes + ownBytes) {
      run.reject(memoryLimitReached(run.limits))
      sandbox.kill('memory limit')
    } else if (sandbox.steps.every((each) => each.run.settled || each.moved)) {
      sandbox.kill('aborted')
    } else if (!sandbox.slow && holdsUp(step, elapsed, sandbox.pid)) {
      this.#holdUp(sandbox, step)
    }
  }

  #holdUp(sandbox: Sandbox, head: Step): void {
    sandbox.slow = true
    if (sandbox.pid !== undefined) yieldToOthers(sandbox.pid, true)
    const behind = sandbox.steps.filter((step) => step.run !== head.run && !step.moved)
    for (const step of behind) step.moved = true
    this.#held(
      sandbox,
      behind.map((step) => step.run),
    )
  }
}

function holdsUp(step: Step, elapsed: number, pid: number): boolean {
  const used = processorMs(pid)
  if (used === null || elapsed > longPatienceMs) return elapsed > patienceMs * 2
  if (step.suspectedAt === null) {
    step.suspectedAt = used
    return false
  }
  return used - step.suspectedAt >= patienceMs
}
