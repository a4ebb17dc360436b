import { setImmediate as nextTurn } from 'node:timers/promises'

/** The longest time of a turn, in milliseconds. */
const maxTurnMs = 5

/**
 * The turn of a long loop over a user's files. Each file may be there without any waiting, and thousands of them would
 * hold the event loop up.
 */
export class Turn {
  #began = performance.now()

  /**
   * Lets others have the event loop if this turn has taken long.
   *
   * @throws the signal's reason
   */
  async mayEnd(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (performance.now() - this.#began < maxTurnMs) return
    await nextTurn()
    this.#began = performance.now()
    signal.throwIfAborted()
  }
}
