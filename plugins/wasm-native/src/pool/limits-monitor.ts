import { memoryLimitReached, timeLimitReached } from '@nodekeep/plugin-sdk/sandbox-process'
import type { Sandbox } from './sandbox.ts'

/** Interval between two checks of busy sandboxes, in milliseconds. */
const busyEveryMs = 10
/** Calls that began later than this before a check are not checked yet. */
const shortMs = 5
/** After this time, an idle sandbox has freed the memory that it does not need. */
const freeingMs = 50
/** A sandbox that has not started after this time never will. */
const longestStartMs = 30_000

/** Checks the time and memory of sandboxes, and ends those at a limit and those that were idle for long. */
export class LimitsMonitor {
  readonly #sandboxes: ReadonlySet<Sandbox>
  readonly #idleMs: number
  #timer: NodeJS.Timeout | undefined
  #soon = false

  constructor(sandboxes: ReadonlySet<Sandbox>, idleMs: number) {
    this.#sandboxes = sandboxes
    this.#idleMs = idleMs
  }

  /** A sandbox is busy from now on. */
  begin(): void {
    if (!this.#soon) this.#schedule(true)
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#soon = false
  }

  #schedule(soon: boolean): void {
    this.stop()
    this.#soon = soon
    // Answers that have arrived are read before the check: the node itself may have been late.
    const check = () => setImmediate(() => this.#check())
    this.#timer = setTimeout(check, soon ? busyEveryMs : this.#idleMs / 4)
    if (!soon) this.#timer.unref()
  }

  #check(): void {
    const now = performance.now()
    for (const sandbox of this.#sandboxes) {
      if (sandbox.ending) continue
      if (sandbox.call === null) this.#checkIdle(sandbox, now - sandbox.since)
      else if (now - sandbox.since >= shortMs) this.#checkBusy(sandbox, now - sandbox.since)
    }
    this.stop()
    const all = [...this.#sandboxes]
    if (all.length > 0) this.#schedule(all.some(({ call, unchecked }) => call !== null || unchecked))
  }

  #checkBusy(sandbox: Sandbox, ms: number): void {
    const { call } = sandbox
    if (call === null) return
    sandbox.unchecked = true
    if (!call.over) {
      if (ms >= call.limits.timeoutMs) call.reject(timeLimitReached(call.limits))
      else if (sandbox.exceedsMemory) call.reject(memoryLimitReached(call.limits))
    }
    // A call cannot be interrupted, so its process ends with it.
    if (call.over) sandbox.end()
  }

  #checkIdle(sandbox: Sandbox, ms: number): void {
    if (ms >= (sandbox.ready ? this.#idleMs : longestStartMs)) sandbox.end()
    if (!sandbox.unchecked || ms < freeingMs) return
    sandbox.unchecked = false
    if (sandbox.bloated) sandbox.end()
  }
}
