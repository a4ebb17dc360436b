import { type Signal, signal } from '@preact/signals'
import { reasonOf } from '../../request.ts'
import * as texts from '../../texts.ts'

/** A run of a function or a program, and its outcome. */
export class Running<T> {
  readonly isRunning = signal(false)
  /** The outcome of the last run; `null` if there is none. */
  readonly outcome: Signal<T | null> = signal(null)
  /** The reason why the last run failed. */
  readonly fault = signal('')
  #stopping = new AbortController()

  /** Runs. An outcome of an earlier run goes away. */
  async run(work: (signal: AbortSignal) => Promise<T>): Promise<void> {
    this.#stopping = new AbortController()
    const { signal } = this.#stopping
    this.outcome.value = null
    this.fault.value = ''
    this.isRunning.value = true
    try {
      this.outcome.value = await work(signal)
    } catch (error) {
      this.fault.value = signal.aborted ? texts.wasm.stopped : reasonOf(error)
    }
    this.isRunning.value = false
  }

  stop(): void {
    this.#stopping.abort()
  }
}
