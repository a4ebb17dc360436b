import { defineService } from '../service.ts'

/** A right that is held until it is released, or until its holder stops renewing it. */
export interface HeldLease {
  /** Rises with every new holder: who guards a resource refuses a smaller one (a "fencing token"). */
  readonly fence: number
  /** Aborted when the lease is lost. Stop what it protected. */
  readonly signal: AbortSignal
  release(): Promise<void>
}

/** Mutual exclusion between all processes that share one state database. */
export interface Lease {
  /**
   * Takes the lease, or answers `null` when somebody else holds it. It is renewed until it is released.
   *
   * @param name what is protected, such as `backup`
   * @param seconds how long a holder that died keeps others out
   */
  acquire(name: string, seconds: number): Promise<HeldLease | null>
}

/** The kernel's leases. */
export const Leases = defineService<Lease>('leases', 1)
