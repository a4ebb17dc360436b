import { runtimeStopped } from './failures.ts'

/** Places for runs. Who finds none waits until one is left, in the order of coming. */
export class Places {
  #free: number
  #closed = false
  readonly #waiting = new Set<() => void>()

  constructor(count: number) {
    this.#free = count
  }

  /**
   * @returns leaves the place
   * @throws the signal's reason, NodekeepError SERVICE_UNAVAILABLE when it is closed
   */
  async take(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted()
    if (this.#closed) throw runtimeStopped()
    if (this.#free > 0) this.#free -= 1
    else await this.#turn(signal)
    return () => this.#leave()
  }

  /** Nobody is let in any more. */
  close(): void {
    this.#closed = true
    for (const enter of this.#waiting) enter()
    this.#waiting.clear()
  }

  #leave(): void {
    const [enter] = this.#waiting
    if (enter === undefined) this.#free += 1
    else {
      this.#waiting.delete(enter)
      enter()
    }
  }

  #turn(signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const enter = () => {
      signal.removeEventListener('abort', abort)
      if (this.#closed) reject(runtimeStopped())
      else resolve()
    }
    const abort = () => {
      this.#waiting.delete(enter)
      reject(signal.reason)
    }
    this.#waiting.add(enter)
    signal.addEventListener('abort', abort, { once: true })
    return promise
  }
}
