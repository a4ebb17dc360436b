import { isWithin } from './user-path.ts'

interface Claim {
  readonly paths: readonly string[]
  /** Called when the claim gets the lock. */
  readonly grant: () => void
  held: boolean
}

/** Releases a lock. A second call does nothing. */
export type Release = () => void

/**
 * Locks on the paths of users. A lock on a path covers everything below it, so two locks conflict when one path is within
 * the other. Conflicting locks are granted in the order of their requests; others do not wait. Locks of different users
 * never conflict.
 */
export class PathLocks {
  /** The claims of each user that has any, in the order of their requests. No `Map`: MEMORY.md, "Tables". */
  readonly #claims: Record<string, Claim[]> = Object.create(null)

  /** Whether no lock is held or requested. */
  get isFree(): boolean {
    for (const _userUuid in this.#claims) return false
    return true
  }

  /**
   * Locks all the paths at once, so that no request waits while it holds a part of them.
   *
   * @throws the reason of the signal when it is aborted before the lock is granted
   */
  async acquire(userUuid: string, paths: readonly string[], signal?: AbortSignal): Promise<Release> {
    signal?.throwIfAborted()
    const free = this.tryAcquire(userUuid, paths)
    if (free !== null) return free
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const claim: Claim = { paths, grant: resolve, held: false }
    const release = this.#add(userUuid, claim)
    const leave = () => {
      if (claim.held) return
      release()
      reject(signal?.reason)
    }
    signal?.addEventListener('abort', leave, { once: true })
    await promise.finally(() => signal?.removeEventListener('abort', leave))
    return release
  }

  /** Locks without waiting. Returns null when a held or requested lock conflicts. */
  tryAcquire(userUuid: string, paths: readonly string[]): Release | null {
    const claim: Claim = { paths, grant: () => {}, held: true }
    return this.#isNext(userUuid, claim) ? this.#add(userUuid, claim) : null
  }

  #add(userUuid: string, claim: Claim): Release {
    const claims = this.#claims[userUuid] ?? []
    this.#claims[userUuid] = claims
    claims.push(claim)
    return () => {
      const place = claims.indexOf(claim)
      if (place === -1) return
      claims.splice(place, 1)
      if (claims.length === 0) delete this.#claims[userUuid]
      for (const waiting of claims) {
        if (waiting.held || !conflict(claim.paths, waiting.paths) || !this.#isNext(userUuid, waiting))
          continue
        waiting.held = true
        waiting.grant()
      }
    }
  }

  /** Whether no earlier claim of the user conflicts. */
  #isNext(userUuid: string, claim: Claim): boolean {
    for (const earlier of this.#claims[userUuid] ?? []) {
      if (earlier === claim) return true
      if (conflict(earlier.paths, claim.paths)) return false
    }
    return true
  }
}

function conflict(some: readonly string[], others: readonly string[]): boolean {
  return some.some((one) => others.some((other) => isWithin(one, other) || isWithin(other, one)))
}
