import { defineService } from '../service.ts'

/** A lease that is held. It lasts until its holder releases it or stops renewing it. */
export interface HeldLease {
  /** A number that rises with every new holder. A guarded resource refuses smaller numbers (a "fencing token"). */
  readonly fence: number
  /** Aborted when the lease is lost. Stop the work that it protects. */
  readonly signal: AbortSignal
  release(): Promise<void>
}

/** Mutual exclusion between all processes that share one state database. */
export interface Lease {
  /**
   * Takes the lease, or resolves to `null` if another holder has it. The lease is renewed until it is released.
   *
   * @param name the protected work, such as `backup`
   * @param seconds the duration for which the lease of a dead holder lasts
   */
  acquire(name: string, seconds: number): Promise<HeldLease | null>
}

/** The kernel's leases. */
export const Leases = defineService<Lease>('leases', 1)
