/** Mutual exclusion within a process: one piece of work runs at a time, in the order of the calls. */
export class Mutex {
  #last: Promise<unknown> = Promise.resolve()

  /**
   * Runs the work once all earlier work has ended, whether that succeeded or failed.
   *
   * @returns the result of the work, or its error
   */
  run<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work)
    this.#last = result.catch(() => {})
    return result
  }
}
