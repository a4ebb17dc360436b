import { NodekeepError } from '../errors.ts'

/** How the content of a write is passed on. */
interface ContentOfWriteOptions {
  /** The announced number of bytes. */
  readonly size: number | undefined
  /** Whether the driver gets copies of the chunks. */
  readonly copies: boolean
  readonly signal: AbortSignal
}

/**
 * The content of a write as its driver gets it: it has no empty chunks, and the announced number of bytes, or fails. It fails
 * at once when the signal aborts, also while its source is silent. It remembers its failure, so that the caller gets it
 * unchanged.
 */
export class ContentOfWrite implements AsyncIterableIterator<Uint8Array> {
  readonly #source: AsyncIterator<Uint8Array>
  readonly #options: ContentOfWriteOptions
  /** Bytes that were passed on. */
  size = 0
  /** Whether all bytes were passed on. */
  hasEnded = false
  failure: { readonly reason: unknown } | null = null
  #interrupt: (reason: unknown) => void = () => {}
  #isOver = false

  constructor(source: AsyncIterable<Uint8Array>, options: ContentOfWriteOptions) {
    this.#source = source[Symbol.asyncIterator]()
    this.#options = options
    if (options.signal.aborted) this.#abort()
    else options.signal.addEventListener('abort', this.#abort)
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<Uint8Array>> {
    return new Promise((resolve, reject) => {
      if (this.failure !== null) return reject(this.failure.reason)
      if (this.#isOver) return resolve({ done: true, value: undefined })
      this.#interrupt = reject
      const pass = (step: IteratorResult<Uint8Array>) => {
        if (this.failure === null) resolve(this.#pass(step))
      }
      this.#nextStep()
        .then(pass)
        .catch((error) => this.fail(error))
    })
  }

  async return(): Promise<IteratorResult<Uint8Array>> {
    this.end()
    return { done: true, value: undefined }
  }

  /** Ends the content with an error. Only the first one counts. */
  fail(reason: unknown): void {
    this.failure ??= { reason }
    this.#interrupt(this.failure.reason)
    this.end()
  }

  /** Leaves the source and the signal. */
  end(): void {
    this.#options.signal.removeEventListener('abort', this.#abort)
    if (this.#isOver) return
    this.#isOver = true
    // Without `await`: a silent source does not answer.
    if (!this.hasEnded) this.#source.return?.().catch(() => {})
  }

  readonly #abort = () => this.fail(this.#options.signal.reason)

  async #nextStep(): Promise<IteratorResult<Uint8Array>> {
    for (;;) {
      const step = await this.#source.next()
      if (step.done || step.value.length > 0 || this.#isOver) return step
    }
  }

  #pass(step: IteratorResult<Uint8Array>): IteratorResult<Uint8Array> {
    const { size: announced, copies } = this.#options
    if (step.done) {
      if (announced !== undefined && this.size < announced) throw wrongSize(announced, 'fewer')
      this.hasEnded = true
      this.end()
      return step
    }
    this.size += step.value.length
    if (announced !== undefined && this.size > announced) throw wrongSize(announced, 'more')
    return copies ? { done: false, value: new Uint8Array(step.value) } : step
  }
}

function wrongSize(announced: number, which: 'fewer' | 'more'): NodekeepError {
  return new NodekeepError(
    'VALIDATION_ERROR',
    `The content has ${which} bytes than the ${announced} that were announced.`,
  )
}
