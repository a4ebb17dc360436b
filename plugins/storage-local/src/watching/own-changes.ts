/** Milliseconds for which a change is remembered after its end. The system reports it sooner. */
const rememberMs = 10_000

/** Paths that are remembered at a time. */
const mostPaths = 5000

/** The state in which a change of the node left a path: the revision of a file, null for nothing, undefined if that is not known. */
export type Left = string | null | undefined

interface OwnChange {
  readonly left: Promise<Left>
  /** When it ended, in milliseconds of `performance.now()`. */
  endedAt: number
}

/**
 * Remembers what the node left at the paths that it changed, so that its watch need not report them. Folders that it makes or moves are
 * reported: another program may have put something into them before they were watched.
 */
export class OwnChanges {
  readonly #leftAt: (path: string) => Promise<Left>
  /** The change that began longest ago comes first. */
  readonly #changes = new Map<string, OwnChange>()

  /** @param leftAt returns what is at a path now */
  constructor(leftAt: (path: string) => Promise<Left>) {
    this.#leftAt = leftAt
  }

  /**
   * Runs a change of paths.
   *
   * @param leftOf returns what it left at each of them
   */
  async run<T>(
    paths: readonly string[],
    change: () => Promise<T>,
    leftOf: (result: T) => readonly Left[],
  ): Promise<T> {
    const { promise, resolve } = Promise.withResolvers<readonly Left[]>()
    const begun = paths.map((path, index): OwnChange => {
      const own = { left: promise.then((left) => left[index]), endedAt: Number.POSITIVE_INFINITY }
      this.#changes.delete(path)
      this.#changes.set(path, own)
      return own
    })
    this.#forgetOld()
    try {
      const result = await change()
      resolve(leftOf(result))
      return result
    } finally {
      for (const own of begun) own.endedAt = performance.now()
      resolve([])
    }
  }

  /** Returns whether a path is as the last change of the node left it. If the change still runs, this waits for its end. */
  async isAsLeft(path: string): Promise<boolean> {
    const own = this.#changes.get(path)
    const left = own === undefined ? await this.#leftByFolderAbove(path) : await own.left
    if (left === undefined || (await this.#leftAt(path)) !== left) return false
    // Another program may make and remove an entry where the node removed one. That is reported.
    if (left === null && this.#changes.get(path) === own) this.#changes.delete(path)
    return true
  }

  /** Whether {@link isAsLeft} may be true. */
  mayKnow(path: string): boolean {
    return this.#changes.has(path) || foldersAbove(path).some((folder) => this.#changes.has(folder))
  }

  /** Nothing is left below a folder that is gone. */
  async #leftByFolderAbove(path: string): Promise<Left> {
    for (const folder of foldersAbove(path)) if ((await this.#changes.get(folder)?.left) === null) return null
    return undefined
  }

  #forgetOld(): void {
    const now = performance.now()
    for (const [path, { endedAt }] of this.#changes) {
      if (this.#changes.size <= mostPaths && now - endedAt < rememberMs) break
      this.#changes.delete(path)
    }
  }
}

function foldersAbove(path: string): string[] {
  const names = path.split('/').slice(1, -1)
  return names.map((_, index) => `/${names.slice(0, index + 1).join('/')}`)
}
