import { type LinkedSignal, linkSignals } from '../concurrency/linked-signal.ts'

/**
 * The signal of the caller of a change. It counts until `beforeCommit` has resolved: a journal has the change then, so the driver makes it,
 * though the caller has left, and the caller learns how it ended.
 */
export class CallerUntilCommit implements Disposable {
  readonly signal: AbortSignal | undefined
  readonly #link: LinkedSignal | undefined
  hasCommitted = false

  constructor(signal: AbortSignal | undefined) {
    this.#link = signal && linkSignals(signal)
    this.signal = this.#link?.signal
  }

  commit(): void {
    this.hasCommitted = true
    this.#link?.[Symbol.dispose]()
  }

  [Symbol.dispose](): void {
    this.#link?.[Symbol.dispose]()
  }
}
