import type { Sandbox } from './sandbox.ts'
import { isOverdue } from './time-limit.ts'

/** How often a sandbox is looked at that may go on beyond its limit, in milliseconds. */
const lookEveryMs = 10

/** Watches over the time limit of a sandbox at work. */
export class Deadline {
  readonly #sandbox: Sandbox
  readonly #timeoutMs: number
  readonly #reached: () => void
  #timer: NodeJS.Timeout | undefined
  #turn: NodeJS.Immediate | undefined
  #began = { at: 0, usedMs: 0, waitedMs: 0 }

  constructor(sandbox: Sandbox, timeoutMs: number, reached: () => void) {
    this.#sandbox = sandbox
    this.#timeoutMs = timeoutMs
    this.#reached = reached
  }

  /** The limit holds from now on. */
  begin(): void {
    this.stop()
    const { usedMs, waitedMs } = this.#sandbox
    this.#began = { at: performance.now(), usedMs, waitedMs }
    this.#judgeAfter(this.#timeoutMs)
  }

  stop(): void {
    clearTimeout(this.#timer)
    clearImmediate(this.#turn)
  }

  #judgeAfter(ms: number): void {
    // Answers that have come are read first: perhaps it was the node that was late.
    this.#timer = setTimeout(() => {
      this.#turn = setImmediate(() => this.#judge())
    }, ms)
  }

  #judge(): void {
    const { at, usedMs, waitedMs } = this.#began
    const spent = {
      elapsedMs: performance.now() - at,
      usedMs: this.#sandbox.usedMs - usedMs,
      waitedMs: this.#sandbox.waitedMs - waitedMs,
    }
    if (isOverdue(spent, this.#timeoutMs)) this.#reached()
    else this.#judgeAfter(lookEveryMs)
  }
}
