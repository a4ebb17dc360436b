import type { HeldLease, Lease } from '@nodekeep/plugin-sdk'
import type { StateDatabase } from './database.ts'
import type { Sql } from './sql.ts'

/** The kernel's leases, and their end. */
export interface KernelLeases extends Lease {
  /** Releases all leases that are held. Nothing can be acquired afterwards. */
  close(): Promise<void>
}

/** One acquired lease. The fence tells its holder from all others. */
interface Grant {
  readonly name: string
  readonly fence: number
  readonly durationMs: number
}

/** Makes leases over a table of the state database: mutual exclusion between all processes that open it. */
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

/** Returns the fence of the new holder, or `null` when the lease is held. It is one statement, and so atomic. */
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

/**
 * Renews the lease three times in its duration until it is released or lost.
 *
 * It is lost when another holder took it, and also when no renewal succeeded in time: another holder may have it then.
 *
 * @param onEnd called once, when the lease is released or lost
 */
function holdLease(database: StateDatabase, grant: Grant, onEnd: () => void): HeldLease {
  const controller = new AbortController()
  let ended = false
  let deadline = setTimeout(lose, grant.durationMs).unref()
  const renewal = setInterval(renew, grant.durationMs / 3).unref()

  function end(): void {
    ended = true
    clearInterval(renewal)
    clearTimeout(deadline)
    onEnd()
  }

  function lose(): void {
    if (ended) return
    end()
    controller.abort(new Error(`The lease "${grant.name}" is lost.`))
  }

  function renew(): void {
    const renewed = database.use((sql) => ended || setExpiry(sql, grant, Date.now() + grant.durationMs))
    renewed.then(
      (isOurs) => {
        if (!isOurs) return lose()
        if (ended) return
        clearTimeout(deadline)
        deadline = setTimeout(lose, grant.durationMs).unref()
      },
      // The next renewal tries again; the deadline decides.
      () => {},
    )
  }

  return {
    fence: grant.fence,
    signal: controller.signal,
    async release() {
      if (ended) return
      end()
      await database.use((sql) => setExpiry(sql, grant, 0))
    },
  }
}

/** Sets when the lease expires, if this holder still has it. Returns whether it did. */
function setExpiry(sql: Sql, { name, fence }: Grant, expires: number): boolean {
  const statement = 'UPDATE leases SET expires = ? WHERE name = ? AND fence = ?'
  return sql.run(statement, Math.ceil(expires), name, fence) === 1
}
