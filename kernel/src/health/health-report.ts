import { performance } from 'node:perf_hooks'
import { type HealthCheck, type HealthFinding, withTimeLimit } from '@nodekeep/plugin-sdk'
import { callWithSignal } from '../faults/call-with-signal.ts'
import type { FaultContext } from '../faults/fault-context.ts'
import type { GuardedRegistry } from '../faults/guarded-registry.ts'

/** The answer of `GET /health` (interface, "Health report"). */
export interface HealthReport {
  readonly status: 'ok' | 'degraded'
  readonly database: string
  readonly ipfs: string
  /** Seconds. */
  readonly uptime: number
}

/** What every check found, by name. */
export interface HealthStatus {
  readonly report: HealthReport
  readonly findings: Readonly<Record<string, HealthFinding>>
  /** Whether all checks are well that configuration requires. */
  readonly serving: boolean
}

export interface HealthOptions {
  readonly checks: GuardedRegistry<HealthCheck>
  /** Names of checks without which the node cannot serve. */
  readonly required: readonly string[]
  readonly timeoutMs: number
  /** Whether a plugin that should be there isn't, or isn't well. */
  readonly pluginsImpaired: () => boolean
}

/** For so long an answer holds: the report is public, and nobody may make the node look all the time. */
const holdMs = 1000

/** Asks all checks and sums up. */
export class Health {
  readonly #options: HealthOptions
  readonly #startedAt = performance.now()
  #latest: Promise<HealthStatus> | null = null

  constructor(options: HealthOptions) {
    this.#options = options
  }

  /** What a look of at most a second ago found. While one is under way, everybody waits for the same. */
  status(): Promise<HealthStatus> {
    this.#latest ??= this.#look().finally(() => {
      setTimeout(() => {
        this.#latest = null
      }, holdMs).unref()
    })
    return this.#latest
  }

  async #look(): Promise<HealthStatus> {
    const { checks, required, timeoutMs, pluginsImpaired } = this.#options
    const looked = [...checks].map(
      async ([name, check]) => [name, await ask(check, checks.contextOf(name), timeoutMs)] as const,
    )
    const findings: Record<string, HealthFinding> = Object.fromEntries(await Promise.all(looked))
    // Named, so that the owner sees what it is that the node counts as down for.
    for (const name of required) findings[name] ??= { ok: false, state: 'disabled' }
    const well = Object.values(findings).every(({ ok }) => ok)
    const serving = required.every((name) => findings[name]?.ok === true)
    return {
      report: {
        status: well && serving && !pluginsImpaired() ? 'ok' : 'degraded',
        database: findings.database?.state ?? 'disabled',
        ipfs: findings.ipfs?.state ?? 'disabled',
        uptime: Math.floor((performance.now() - this.#startedAt) / 1000),
      },
      findings,
      serving,
    }
  }
}

async function ask(check: HealthCheck, context: FaultContext, timeoutMs: number): Promise<HealthFinding> {
  const abort = new AbortController()
  try {
    const work = callWithSignal(context, abort.signal, (signal) => check.check(signal))
    const { ok, state } = await withTimeLimit(work, timeoutMs, 'late')
    return { ok: ok === true, state: String(state) }
  } catch {
    return { ok: false, state: 'unreachable' }
  } finally {
    abort.abort()
  }
}
