import type { HeldLease, Lease } from '@nodekeep/plugin-sdk'
import type { StateDatabase } from './database.ts'
import type { Sql } from './sql.ts'

const longestSeconds = 86_400

/** One acquired lease. The fence tells its holder from all others. */
interface Grant {
  readonly name: string
  readonly fence: number
  readonly durationMs: number
}

/** Leases over a table of the state database: mutual exclusion between all processes that open it. */
export class KernelLeases implements Lease {
  readonly #database: StateDatabase
  readonly #held = new Set<HeldLease>()
  #isClosed = false

  constructor(database: StateDatabase) {
    this.#database = database
  }

  async acquire(name: string, seconds: number): Promise<HeldLease | null> {
    if (typeof name !== 'string' || name === '')
      throw new TypeError('A lease needs a name, such as "backup".')
    if (!(seconds > 0) || seconds > longestSeconds) {
      throw new RangeError(`A lease lasts more than 0 and at most ${longestSeconds} seconds, not ${seconds}.`)
    }
    if (this.#isClosed) throw new Error('The node is stopping; no lease can be acquired.')
    const durationMs = seconds * 1000
    const fence = await take(this.#database, name, durationMs)
    if (fence === null) return null
    const grant = { name, fence, durationMs }
    const lease: HeldLease = new RenewedLease(this.#database, grant, () => this.#held.delete(lease))
    this.#held.add(lease)
    if (this.#isClosed) await lease.release()
    return lease
  }

  /** Releases all leases that are held. Nothing can be acquired afterwards. */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#held].map((lease) => lease.release()))
  }
}

/**
 * Returns the fence of the new holder, or `null` when the lease is held. It is one statement, and so atomic. A lease that would last
 * longer than any was taken while the clock was ahead, and does not hold.
 */
async function take(database: StateDatabase, name: string, durationMs: number): Promise<number | null> {
  const now = Date.now()
  const row = await database.use((sql) =>
    sql.get(
      `INSERT INTO leases (name, fence, expires) VALUES (?, 1, ?)
       ON CONFLICT (name) DO UPDATE SET fence = fence + 1, expires = excluded.expires WHERE expires <= ? OR expires > ?
       RETURNING fence`,
      name,
      Math.ceil(now + durationMs),
      now,
      now + longestSeconds * 1000,
    ),
  )
  return row ? Number(row.fence) : null
}

/**
 * A lease that is renewed three times in its duration until it is released or lost.
 *
 * It is lost when another holder took it, and also when no renewal succeeded in time: another holder may have it then.
 */
class RenewedLease implements HeldLease {
  readonly #database: StateDatabase
  readonly #grant: Grant
  readonly #onEnd: () => void
  readonly #controller = new AbortController()
  readonly #renewal: NodeJS.Timeout
  #deadline: NodeJS.Timeout
  #hasEnded = false

  /** @param onEnd called once, when the lease is released or lost */
  constructor(database: StateDatabase, grant: Grant, onEnd: () => void) {
    this.#database = database
    this.#grant = grant
    this.#onEnd = onEnd
    this.#renewal = setInterval(() => this.#renew(), grant.durationMs / 3).unref()
    this.#deadline = this.#loseLater()
  }

  get fence(): number {
    return this.#grant.fence
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  async release(): Promise<void> {
    if (this.#hasEnded) return
    this.#end()
    await this.#database.use((sql) => setExpiry(sql, this.#grant, 0))
  }

  #end(): void {
    this.#hasEnded = true
    clearInterval(this.#renewal)
    clearTimeout(this.#deadline)
    this.#onEnd()
  }

  #loseLater(): NodeJS.Timeout {
    return setTimeout(() => this.#lose(), this.#grant.durationMs).unref()
  }

  #lose(): void {
    if (this.#hasEnded) return
    this.#end()
    this.#controller.abort(new Error(`The lease "${this.#grant.name}" is lost.`))
  }

  #renew(): void {
    const { durationMs } = this.#grant
    const renewed = this.#database.use(
      (sql) => this.#hasEnded || setExpiry(sql, this.#grant, Date.now() + durationMs),
    )
    renewed.then(
      (isOurs) => {
        if (!isOurs) return this.#lose()
        if (this.#hasEnded) return
        clearTimeout(this.#deadline)
        this.#deadline = this.#loseLater()
      },
      // The next renewal tries again; the deadline decides.
      () => {},
    )
  }
}

/** Sets when the lease expires, if this holder still has it. Returns whether it did. */
function setExpiry(sql: Sql, { name, fence }: Grant, expires: number): boolean {
  const statement = 'UPDATE leases SET expires = ? WHERE name = ? AND fence = ?'
  return sql.run(statement, Math.ceil(expires), name, fence) === 1
}
