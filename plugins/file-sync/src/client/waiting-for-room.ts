import type { Replicas } from './replicas.ts'

/** Paths whose steps wait until the node has room for them. */
export class WaitingForRoom {
  readonly #replicas: Replicas
  readonly #paths = new Set<string>()
  #message: string | null = null

  constructor(replicas: Replicas) {
    this.#replicas = replicas
  }

  /** Why paths wait, as the node has said it first. `null` if none waits. */
  get message(): string | null {
    return this.#message
  }

  /** Takes a path whose step has found no room. */
  add(path: string, message: string): void {
    this.#paths.add(path)
    this.#replicas.retryLater.add(path)
    this.#message ??= message
  }

  has(path: string): boolean {
    return this.#paths.has(path)
  }

  /** Forgets a path. Returns whether it had waited. */
  delete(path: string): boolean {
    const hasWaited = this.#paths.delete(path)
    if (this.#paths.size === 0) this.#message = null
    return hasWaited
  }

  /** Lets the smallest files be tried: where they have no room, the others have none either. */
  tryAgain(most: number): void {
    const { retryLater, dirty } = this.#replicas
    for (const path of this.#paths)
      if (!retryLater.has(path) && !dirty.has(path) && !this.#replicas.isBusy(path)) this.delete(path)
    const waiting = [...this.#paths].filter((path) => retryLater.has(path))
    for (const path of waiting.sort((a, b) => this.#sizeOf(a) - this.#sizeOf(b)).slice(0, most)) {
      retryLater.delete(path)
      dirty.add(path)
    }
  }

  #sizeOf(path: string): number {
    const entry = this.#replicas.local.get(path)
    return entry?.type === 'file' ? entry.size : 0
  }
}
