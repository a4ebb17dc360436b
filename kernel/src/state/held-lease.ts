import type { HeldLease } from '@nodekeep/plugin-sdk'
import type { StateDatabase } from './database.ts'
import type { Sql } from './sql.ts'

/** One acquired lease: the fence tells its holder from all others. */
interface Grant {
  readonly name: string
  readonly fence: number
  readonly durationMs: number
}

/**
 * Renews the lease three times in its duration until it is released or lost.
 *
 * It is lost when somebody else took it, and also when no renewal succeeded in time: others may have it by then.
 *
 * @param onEnd called once, when the lease is released or lost
 */
export function holdLease(database: StateDatabase, grant: Grant, onEnd: () => void): HeldLease {
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
      (kept) => {
        if (!kept) return lose()
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

/** Tells whether the lease is still this holder's. */
function setExpiry(sql: Sql, grant: Grant, expires: number): boolean {
  const { name, fence } = grant
  return (
    sql.run('UPDATE leases SET expires = ? WHERE name = ? AND fence = ?', Math.ceil(expires), name, fence) ===
    1
  )
}
