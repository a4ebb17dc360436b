import { untilAborted } from '@nodekeep/plugin-sdk'

interface Work<V> {
  readonly result: Promise<V>
  readonly abandoned: AbortController
  waiting: number
}

/** Does the same work once for all callers that want it at the same time. When the last one has left, it is aborted. */
export class SharedWork<V> {
  readonly #running = new Map<string, Work<V>>()

  /** @param begin does the work; called when no other caller is waiting for the same */
  async get(key: string, signal: AbortSignal, begin: (signal: AbortSignal) => Promise<V>): Promise<V> {
    signal.throwIfAborted()
    const work = this.#running.get(key) ?? this.#begin(key, begin)
    work.waiting += 1
    try {
      return await untilAborted(work.result, signal)
    } finally {
      work.waiting -= 1
      if (work.waiting === 0) {
        this.#remove(key, work)
        work.abandoned.abort(signal.reason)
      }
    }
  }

  #begin(key: string, begin: (signal: AbortSignal) => Promise<V>): Work<V> {
    const abandoned = new AbortController()
    const work = { result: begin(abandoned.signal), abandoned, waiting: 0 }
    // Callers that still wait hear of a failure by themselves.
    const end = () => this.#remove(key, work)
    work.result.then(end, end)
    this.#running.set(key, work)
    return work
  }

  #remove(key: string, work: Work<V>): void {
    if (this.#running.get(key) === work) this.#running.delete(key)
  }
}
