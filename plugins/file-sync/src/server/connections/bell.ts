/** Wakes a loop that waits for something to do. */
export class Bell {
  #isRung = false
  #wake = () => {}

  ring(): void {
    this.#isRung = true
    this.#wake()
  }

  /** Resolves when the bell was rung since the last call. */
  async rung(): Promise<void> {
    if (!this.#isRung) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#wake = resolve
      await promise
    }
    this.#isRung = false
  }
}
