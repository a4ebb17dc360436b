interface Work<V> {
  readonly result: Promise<V>
  readonly abandoned: AbortController
  waiting: number
}

/**
 * Does the same work once for all who want it at the same time. Who leaves stops waiting; when the last one has left,
 * the work is aborted.
 */
export class SharedWork<V> {
  readonly #running = new Map<string, Work<V>>()

  /** @param begin does the work; called when nobody else is waiting for the same */
  async get(key: string, signal: AbortSignal, begin: (signal: AbortSignal) => Promise<V>): Promise<V> {
    signal.throwIfAborted()
    const work = this.#running.get(key) ?? this.#begin(key, begin)
    const left = Promise.withResolvers<never>()
    const leave = () => left.reject(signal.reason)
    signal.addEventListener('abort', leave, { once: true })
    work.waiting += 1
    try {
      return await Promise.race([work.result, left.promise])
    } finally {
      signal.removeEventListener('abort', leave)
      work.waiting -= 1
      if (work.waiting === 0) {
        this.#forget(key, work)
        work.abandoned.abort(signal.reason)
      }
    }
  }

  #begin(key: string, begin: (signal: AbortSignal) => Promise<V>): Work<V> {
    const abandoned = new AbortController()
    const work = { result: begin(abandoned.signal), abandoned, waiting: 0 }
    // Those who wait hear of a failure themselves; when all have left, nobody has to.
    const end = () => this.#forget(key, work)
    work.result.then(end, end)
    this.#running.set(key, work)
    return work
  }

  #forget(key: string, work: Work<V>): void {
    if (this.#running.get(key) === work) this.#running.delete(key)
  }
}
