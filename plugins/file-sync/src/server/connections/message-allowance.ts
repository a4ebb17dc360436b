/** Messages that a client may send at once. */
const burst = 100

/** Messages that it may send per second, on and on. */
const perSecond = 10

/** Bounds the messages of a client. */
export class MessageAllowance {
  #left = burst
  #since = performance.now()

  /** Takes one message from the allowance. Returns false if there is none left. */
  take(): boolean {
    const now = performance.now()
    this.#left = Math.min(burst, this.#left + ((now - this.#since) / 1000) * perSecond)
    this.#since = now
    if (this.#left < 1) return false
    this.#left -= 1
    return true
  }
}
