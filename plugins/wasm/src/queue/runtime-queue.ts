import type { NodekeepError, WasmRuntime } from '@nodekeep/plugin-sdk'
import { FairQueue, type QueueBounds } from './fair-queue.ts'

/** The time of a user's turn, in milliseconds. */
const turnMs = 300

/** The fair queue of the runtime in use, with as many slots as that runtime has. */
export class RuntimeQueue {
  readonly #kind: 'functionsAtOnce' | 'programsAtOnce'
  readonly #bounds: QueueBounds
  #runtime: WasmRuntime | undefined
  #queue: FairQueue | undefined
  #closed: NodekeepError | undefined

  /** @param kind which slots of the runtime count */
  constructor(kind: 'functionsAtOnce' | 'programsAtOnce', bounds: QueueBounds) {
    this.#kind = kind
    this.#bounds = bounds
  }

  /** As {@link FairQueue.run}, on the slots of a runtime. */
  run<T>(runtime: WasmRuntime, user: string, signal: AbortSignal, task: () => Promise<T>): Promise<T> {
    if (runtime !== this.#runtime || this.#queue === undefined) {
      // Runs that wait for the runtime before this one go on and learn from it that it has stopped.
      this.#runtime = runtime
      this.#queue = new FairQueue({
        ...this.#bounds,
        turnMs,
        slots: runtime[this.#kind] ?? Number.POSITIVE_INFINITY,
      })
      if (this.#closed !== undefined) this.#queue.close(this.#closed)
    }
    return this.#queue.run(user, signal, task)
  }

  /** Refuses all runs that wait and all that still come. */
  close(reason: NodekeepError): void {
    this.#closed = reason
    this.#queue?.close(reason)
  }
}
