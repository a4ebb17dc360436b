import { isWithin } from '../paths/user-path.ts'

interface Claim {
  readonly paths: readonly string[]
  /** Called when the claim holds. */
  readonly grant: () => void
  held: boolean
}

/** Gives a lock back. Calling it again does nothing. */
export type Release = () => void

/**
 * Locks on paths. A lock on a path covers all below it, so two locks are at odds when one path is within the other.
 * Who came first is served first; those who are not at odds don't wait for each other.
 */
export class PathLocks {
  readonly #claims = new Set<Claim>()

  /** Whether nobody holds or waits for a lock. */
  get isFree(): boolean {
    return this.#claims.size === 0
  }

  /**
   * Locks all the paths at once, so that nobody waits with a part of them.
   *
   * @throws the reason of the signal when it is aborted before the lock is there
   */
  async acquire(paths: readonly string[], signal?: AbortSignal): Promise<Release> {
    signal?.throwIfAborted()
    const free = this.tryAcquire(paths)
    if (free !== null) return free
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const claim: Claim = { paths, grant: resolve, held: false }
    const release = this.#releaseOf(claim)
    this.#claims.add(claim)
    const leave = () => {
      if (claim.held) return
      release()
      reject(signal?.reason)
    }
    signal?.addEventListener('abort', leave, { once: true })
    await promise.finally(() => signal?.removeEventListener('abort', leave))
    return release
  }

  /** The same without a wait: null when somebody else holds or waits for one of them. */
  tryAcquire(paths: readonly string[]): Release | null {
    const claim: Claim = { paths, grant: () => {}, held: true }
    if (!this.#isNext(claim)) return null
    this.#claims.add(claim)
    return this.#releaseOf(claim)
  }

  #releaseOf(claim: Claim): Release {
    return () => {
      if (this.#claims.delete(claim)) this.#serve(claim)
    }
  }

  #serve(gone: Claim): void {
    for (const claim of this.#claims) {
      if (claim.held || !atOdds(gone.paths, claim.paths) || !this.#isNext(claim)) continue
      claim.held = true
      claim.grant()
    }
  }

  /** Whether none of those who came before is at odds with a claim. */
  #isNext(claim: Claim): boolean {
    for (const earlier of this.#claims) {
      if (earlier === claim) return true
      if (atOdds(earlier.paths, claim.paths)) return false
    }
    return true
  }
}

function atOdds(some: readonly string[], others: readonly string[]): boolean {
  return some.some((one) => others.some((other) => isWithin(one, other) || isWithin(other, one)))
}
