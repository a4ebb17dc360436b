/** How long a provider may take to end after its `finish`, in milliseconds. */
const maxEndMs = 1000

/**
 * The iterator of a provider. Each wait for a piece is limited and can be interrupted, whatever the provider does: it may
 * ignore its signal, never answer, or throw anything.
 */
export class ProviderStream<T> {
  readonly #open: (signal: AbortSignal) => AsyncIterable<T>
  readonly #abort = new AbortController()
  #iterator: AsyncIterator<T> | undefined
  /** Fails the pending wait, if there is one. */
  #interrupt: ((reason: unknown) => void) | undefined
  #timeoutError: (() => Error) | undefined
  #timer: NodeJS.Timeout | undefined
  #timerMs = 0
  #isTimedOut = false

  /** @param open asks the provider; called with the first `next` */
  constructor(open: (signal: AbortSignal) => AsyncIterable<T>) {
    this.#open = open
  }

  /**
   * Waits for the next piece.
   *
   * @param restarts whether the time starts at zero. Otherwise the time of the last wait goes on
   * @param timeoutError makes the error for a provider that took longer than `maxMs`
   * @throws what the provider throws, the reason of `close`, or the error of `timeoutError`
   */
  async next(maxMs: number, timeoutError: () => Error, restarts = true): Promise<IteratorResult<T>> {
    this.#abort.signal.throwIfAborted()
    this.#timeoutError = timeoutError
    if (restarts) this.#startTimer(maxMs)
    else if (this.#isTimedOut) throw timeoutError()
    try {
      return await new Promise((resolve, reject) => {
        this.#interrupt = reject
        this.#pull().then(resolve, reject)
      })
    } finally {
      this.#interrupt = undefined
    }
  }

  /** Ends the stream at once, without waiting for the provider. A pending `next` throws the reason. */
  close(reason: unknown): void {
    this.#interrupt?.(reason)
    clearTimeout(this.#timer)
    this.#abort.abort(reason)
    const leave = async () => this.#iterator?.return?.()
    leave().catch(() => {})
  }

  /** Lets the provider end by itself after its last piece, so that its connection can be reused. */
  async finish(): Promise<void> {
    const timeoutError = () => {
      const error = new Error('The provider did not end after its last piece.')
      this.close(error)
      return error
    }
    try {
      const { done } = await this.next(maxEndMs, timeoutError)
      if (done !== true) timeoutError()
    } catch {
      // The provider ended with an error, which changes nothing: the reply is complete.
    }
    clearTimeout(this.#timer)
  }

  /** Starts the one timer of all waits: replies have many pieces. */
  #startTimer(maxMs: number): void {
    this.#isTimedOut = false
    if (this.#timer !== undefined && this.#timerMs === maxMs) {
      this.#timer.refresh()
      return
    }
    clearTimeout(this.#timer)
    this.#timerMs = maxMs
    this.#timer = setTimeout(() => {
      this.#isTimedOut = true
      this.#interrupt?.(this.#timeoutError?.())
    }, maxMs)
  }

  async #pull(): Promise<IteratorResult<T>> {
    // A provider may have declared `chat` as an async function.
    this.#iterator ??= (await this.#open(this.#abort.signal))[Symbol.asyncIterator]()
    return this.#iterator.next()
  }
}
