import type { HeldLease, Lease } from '@nodekeep/plugin-sdk'
import type { StateDatabase } from './database.ts'
import { holdLease } from './held-lease.ts'

/** The kernel's leases, and their end. */
export interface KernelLeases extends Lease {
  /** Releases everything that is held. Nothing can be acquired afterwards. */
  close(): Promise<void>
}

/** Leases on a table of the state database: mutual exclusion between all processes that open it. */
export function createLeases(database: StateDatabase): KernelLeases {
  const held = new Set<HeldLease>()
  let closed = false

  return {
    async acquire(name, seconds) {
      if (typeof name !== 'string' || name === '')
        throw new TypeError('A lease needs a name, such as "backup".')
      if (!(seconds > 0) || seconds > 86_400) {
        throw new RangeError(`A lease lasts more than 0 and at most 86400 seconds, not ${seconds}.`)
      }
      if (closed) throw new Error('The node is stopping; no lease can be acquired.')
      const durationMs = seconds * 1000
      const fence = await take(database, name, durationMs)
      if (fence === null) return null
      const lease = holdLease(database, { name, fence, durationMs }, () => held.delete(lease))
      held.add(lease)
      if (closed) await lease.release()
      return lease
    },
    async close() {
      closed = true
      await Promise.all([...held].map((lease) => lease.release()))
    },
  }
}

/** Answers the fence of the new holder, or `null` when the lease is held. One statement, and so atomic. */
async function take(database: StateDatabase, name: string, durationMs: number): Promise<number | null> {
  const now = Date.now()
  const row = await database.use((sql) =>
    sql.get(
      `INSERT INTO leases (name, fence, expires) VALUES (?, 1, ?)
       ON CONFLICT (name) DO UPDATE SET fence = fence + 1, expires = excluded.expires WHERE expires <= ?
       RETURNING fence`,
      name,
      Math.ceil(now + durationMs),
      now,
    ),
  )
  return row ? Number(row.fence) : null
}
