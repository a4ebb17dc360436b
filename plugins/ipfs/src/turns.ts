import { setImmediate } from 'node:timers/promises'

/** Milliseconds in which steps may follow each other without a turn of the event loop. */
const turnMs = 5

/**
 * Gives the event loop a turn now and then, for work in many steps that wait for nothing: without it, nothing else would run meanwhile, not
 * even the change for which a caller looks again and again.
 */
export class Turns {
  #turnEndsAt = 0

  /** Call it before each step. */
  async give(): Promise<void> {
    if (performance.now() < this.#turnEndsAt) return
    await setImmediate()
    this.#turnEndsAt = performance.now() + turnMs
  }
}
