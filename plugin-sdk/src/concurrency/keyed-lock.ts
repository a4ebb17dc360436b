import { Mutex } from './mutex.ts'

/** Mutual exclusion per key within a process. Work on different keys runs at the same time. */
export class KeyedLock {
  // No `Map`: MEMORY.md, "Tables".
  readonly #held: Record<string, { readonly mutex: Mutex; users: number }> = Object.create(null)

  /**
   * Runs the work while it holds all the keys. Calls with the same keys run in the order in which they were made.
   *
   * @param keys any number; the lock takes them in one fixed order, so calls never wait for each other in a circle.
   * The work must not call `run` for further keys of the same lock.
   * @returns the result of the work, or its error
   */
  run<T>(keys: readonly string[], work: () => Promise<T>): Promise<T> {
    const ordered = [...new Set(keys)].sort()
    return ordered.reduceRight<() => Promise<T>>((inner, key) => () => this.#holding(key, inner), work)()
  }

  async #holding<T>(key: string, work: () => Promise<T>): Promise<T> {
    const held = this.#held[key] ?? { mutex: new Mutex(), users: 0 }
    this.#held[key] = held
    held.users += 1
    try {
      return await held.mutex.run(work)
    } finally {
      held.users -= 1
      if (held.users === 0) delete this.#held[key]
    }
  }
}
