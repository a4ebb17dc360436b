/** So many paths are remembered, so long, in milliseconds. */
const most = 1000
const recentMs = 1000

/**
 * Which paths were looked at a moment ago. What the system has just told of a file it still has in its memory, and tells
 * it again in less time than it takes to hand the question to a thread.
 */
export class RecentLooks {
  readonly #times = new Map<string, number>()

  has(path: string): boolean {
    const time = this.#times.get(path)
    return time !== undefined && performance.now() - time < recentMs
  }

  note(path: string): void {
    this.#times.delete(path)
    this.#times.set(path, performance.now())
    const [oldest] = this.#times.keys()
    if (this.#times.size > most && oldest !== undefined) this.#times.delete(oldest)
  }
}
