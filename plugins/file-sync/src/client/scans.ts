import { PathTree } from './path-tree.ts'
import { foldersAbove, isWithin } from './sync-paths.ts'

/** The scans of one side that run, and the paths that wait because scans of them failed. */
export class Scans {
  readonly #running = new Set<string>()
  readonly #postponed = new PathTree<true>()
  /** Failed scans of a path in a row. */
  readonly #failures = new Map<string, number>()

  get isRunning(): boolean {
    return this.#running.size > 0
  }

  /** Whether a scan of a path may begin. */
  mayBegin(path: string): boolean {
    return this.#postponed.get(path) === undefined && !this.meets(path)
  }

  /** Whether a running scan is at a path, above or below it. */
  meets(path: string): boolean {
    for (const other of this.#running) if (isWithin(path, other) || isWithin(other, path)) return true
    return false
  }

  /** Whether a path waits for a scan that failed. What is known of it may be old. */
  awaits(path: string): boolean {
    return (
      [path, '/', ...foldersAbove(path)].some((each) => this.#postponed.get(each)) ||
      !this.#postponed.isEmpty(path)
    )
  }

  /**
   * Runs a scan.
   *
   * @param onFailure takes the error of the scan, before others may begin at its path
   */
  async run(path: string, scan: () => Promise<void>, onFailure: (error: unknown) => void): Promise<void> {
    this.#running.add(path)
    try {
      await scan()
      this.#failures.delete(path)
    } catch (error) {
      onFailure(error)
    } finally {
      this.#running.delete(path)
    }
  }

  /**
   * Lets a path wait of which a scan failed. Other paths need not wait for it.
   *
   * @returns the number of failed scans in a row before this one
   */
  postpone(path: string): number {
    const count = this.#failures.get(path) ?? 0
    this.#failures.set(path, count + 1)
    this.#postponed.set(path, true)
    return count
  }

  /** Lets a path wait no longer. */
  resume(path: string): void {
    this.#postponed.delete(path)
  }
}
