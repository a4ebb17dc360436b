/** How long a provider may take to end after its `finish`, in milliseconds. */
const graceMs = 1000

/**
 * The iterator of a provider, which may do anything: throw where it should reject, answer what is no promise, or
 * never answer.
 */
export class ReplySource {
  readonly #iterator: AsyncIterator<unknown>
  readonly #abort: AbortController

  /**
   * @param answer what the provider's `chat` returned
   * @param abort tells the provider that the rest is not wanted
   * @throws TypeError when the answer cannot be iterated
   */
  constructor(answer: AsyncIterable<unknown>, abort: AbortController) {
    if (answer instanceof Promise) answer.catch(() => {})
    this.#iterator = answer[Symbol.asyncIterator]()
    this.#abort = abort
  }

  /** Asks for the next piece. */
  next(take: (result: IteratorResult<unknown>) => void, fail: (thrown: unknown) => void): void {
    try {
      Promise.resolve(this.#iterator.next()).then(take, fail)
    } catch (error) {
      fail(error)
    }
  }

  /** Tells the provider that the rest is not wanted, without waiting for it. */
  leave(reason: unknown): void {
    this.#abort.abort(reason)
    try {
      Promise.resolve(this.#iterator.return?.()).catch(() => {})
    } catch {
      // The call is over, whatever the provider thinks of it.
    }
  }

  /** Lets the provider come to its own end after the last piece, so that it can keep its connection. */
  close(): void {
    const giveUp = () => this.leave(new Error('The reply was finished.'))
    const grace = setTimeout(giveUp, graceMs).unref()
    this.next(
      (result) => {
        clearTimeout(grace)
        if (result?.done !== true) giveUp()
      },
      () => clearTimeout(grace),
    )
  }
}
