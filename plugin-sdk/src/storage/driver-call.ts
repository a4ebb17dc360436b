import { NodekeepError } from '../errors.ts'

/** Bytes that every storage copies, or brings to its disk, within a millisecond. */
const bytesPerMs = 1024

/**
 * A call of a driver. It fails if the driver works for some time without progress. The time in which the driver waits for its caller,
 * such as for the next chunk of an upload, does not count.
 */
export class DriverCall implements Disposable {
  readonly #outer: AbortSignal
  readonly #limitMs: number
  #controller: AbortController | null = null
  #failure: NodekeepError | null = null
  #timer: NodeJS.Timeout | undefined
  #isOver = false
  #reject: (error: NodekeepError) => void = () => {}

  /**
   * @param outer aborts when the caller leaves, and when the backend closes
   * @param limitMs milliseconds; `Infinity` for no limit
   */
  constructor(outer: AbortSignal, limitMs: number) {
    this.#outer = outer
    this.#limitMs = limitMs
  }

  /** Aborts with `outer`, and when the time is over. It is made for the drivers that ask for it. */
  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController()
      this.#outer.addEventListener('abort', this.#abort)
      if (this.#outer.aborted) this.#abort()
      if (this.#failure !== null) this.#controller.abort(this.#failure)
    }
    return this.#controller.signal
  }

  /**
   * Waits for a step of the driver.
   *
   * @param bytes what it has to copy
   * @throws NodekeepError SERVICE_UNAVAILABLE if the time is over; the error of the step
   */
  async wait<T>(step: Promise<T>, bytes = 0): Promise<T> {
    const { promise: late, reject } = Promise.withResolvers<never>()
    this.#reject = reject
    if (this.#failure === null) this.resume(bytes)
    else reject(this.#failure)
    try {
      return await Promise.race([step, late])
    } finally {
      clearTimeout(this.#timer)
    }
  }

  /**
   * The driver waits for its caller from now on.
   *
   * @throws NodekeepError SERVICE_UNAVAILABLE if the call was given up before
   */
  pause(): void {
    if (this.#failure !== null) throw this.#failure
    clearTimeout(this.#timer)
  }

  /**
   * The driver works from now on.
   *
   * @param bytes what it has to copy, or to bring to its disk
   */
  resume(bytes = 0): void {
    clearTimeout(this.#timer)
    if (this.#isOver || this.#limitMs === Number.POSITIVE_INFINITY || this.#failure !== null) return
    this.#timer = setTimeout(this.#giveUp, this.#limitMs + bytes / bytesPerMs)
  }

  [Symbol.dispose](): void {
    this.#isOver = true
    clearTimeout(this.#timer)
    this.#outer.removeEventListener('abort', this.#abort)
  }

  readonly #abort = () => this.#controller?.abort(this.#outer.reason)

  readonly #giveUp = () => {
    this.#failure = new NodekeepError(
      'SERVICE_UNAVAILABLE',
      'The storage does not answer. What was asked of it may still happen. Try again later.',
      { cause: new DOMException(`No progress for ${this.#limitMs} ms.`, 'TimeoutError') },
    )
    this.#controller?.abort(this.#failure)
    this.#reject(this.#failure)
  }
}
