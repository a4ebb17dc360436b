/** Steps that take less by the clock are believed to, in milliseconds. */
const shortMs = 1

/**
 * Tells how long steps take. On a busy machine the clock goes on while the sandbox waits for a processor, which says
 * nothing of the step. So what counts is the time on the processor, unless a step can wait by itself.
 */
export class StepClock {
  #processor = process.threadCpuUsage()
  #began = performance.now()

  /** Notes that work has come. Reading the processor's time takes as long as a short step, so it isn't done for each. */
  wake(): void {
    this.#processor = process.threadCpuUsage()
  }

  begin(): void {
    this.#began = performance.now()
  }

  /**
   * How long the step has taken, in microseconds.
   *
   * @param canWait whether it may have waited for something else than a processor
   */
  elapsed(canWait: boolean): number {
    const ms = performance.now() - this.#began
    if (canWait || ms < shortMs) return Math.round(ms * 1000)
    const { user, system } = process.threadCpuUsage(this.#processor)
    this.wake()
    return Math.min(Math.round(ms * 1000), user + system)
  }
}
