/** The bytes of a burst, as seconds of the rate. */
const burstSeconds = 1

/** Holds connections together to a rate: those of a node, or of an address. */
export class ByteRate {
  readonly #bytesPerSecond: number
  /** Called when bytes may pass again. */
  readonly #waiting = new Set<() => void>()
  #budget: number
  #refilledAt = performance.now()
  #isSpent = false

  constructor(bytesPerSecond: number) {
    this.#bytesPerSecond = bytesPerSecond
    this.#budget = bytesPerSecond * burstSeconds
  }

  /** Whether no more bytes may pass now. */
  get isSpent(): boolean {
    return this.#isSpent
  }

  /** Counts bytes that pass. */
  spend(bytes: number): void {
    this.#refill()
    this.#budget -= bytes
    if (this.#budget < 0 && !this.#isSpent) this.#wait()
  }

  /** Calls back once when bytes may pass again. */
  whenRefilled(resume: () => void): void {
    this.#waiting.add(resume)
  }

  #refill(): void {
    const now = performance.now()
    const earned = ((now - this.#refilledAt) / 1000) * this.#bytesPerSecond
    this.#refilledAt = now
    this.#budget = Math.min(this.#budget + earned, this.#bytesPerSecond * burstSeconds)
  }

  #wait(): void {
    this.#isSpent = true
    setTimeout(() => this.#goOn(), (-this.#budget / this.#bytesPerSecond) * 1000)
  }

  #goOn(): void {
    this.#refill()
    // Each connection may have passed some bytes more.
    if (this.#budget < 0) {
      this.#wait()
      return
    }
    this.#isSpent = false
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const resume of waiting) resume()
  }
}
