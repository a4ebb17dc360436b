import type { NodekeepError } from '@nodekeep/plugin-sdk'
import type { ProgramRuntime } from '../runtimes.ts'
import { FairQueue, type QueueBounds } from './fair-queue.ts'

/**
 * Keeps WASI programs waiting in a row of their own, with as many places as the runtime has: in the row of the functions,
 * those that wait within the runtime would count as running, and users wouldn't take turns.
 */
export class ProgramQueue {
  readonly #bounds: QueueBounds
  #runtime: ProgramRuntime | undefined
  #queue: FairQueue
  #closed: NodekeepError | undefined

  constructor(bounds: QueueBounds) {
    this.#bounds = bounds
    this.#queue = new FairQueue(bounds)
  }

  /** As {@link FairQueue.run}, on the places of a runtime. */
  run<T>(runtime: ProgramRuntime, user: string, signal: AbortSignal, task: () => Promise<T>): Promise<T> {
    if (runtime !== this.#runtime) this.#begin(runtime)
    return this.#queue.run(user, signal, task)
  }

  /** Refuses what waits, and whatever still comes. */
  close(reason: NodekeepError): void {
    this.#closed = reason
    this.#queue.close(reason)
  }

  /** What waits for another runtime, which was stopped, goes on and learns that from it. */
  #begin(runtime: ProgramRuntime): void {
    this.#runtime = runtime
    const parallel = Math.min(this.#bounds.parallel, runtime.programsAtOnce ?? Number.POSITIVE_INFINITY)
    this.#queue = new FairQueue({ ...this.#bounds, parallel })
    if (this.#closed !== undefined) this.#queue.close(this.#closed)
  }
}
