import { performance } from 'node:perf_hooks'
import {
  type Attention,
  type HealthCheck,
  type HealthFinding,
  type Static,
  Type,
  withTimeLimit,
} from '@nodekeep/plugin-sdk'
import type { KernelConfiguration } from '../configuration/kernel-schema.ts'
import type { RegistryEntries } from '../services/registry.ts'

/** The answer of `GET /health` (interface, "Health report"). */
export const healthReport = Type.Object({
  status: Type.String(),
  database: Type.String(),
  ipfs: Type.String(),
  uptime: Type.Integer({ description: 'Seconds.' }),
})

/** The result of every check, by name. */
interface HealthStatus {
  readonly report: Static<typeof healthReport>
  readonly findings: Readonly<Record<string, HealthFinding>>
  /** All that needs the owner, failures first. */
  readonly attention: readonly Attention[]
  /** Whether all required checks pass. */
  readonly serving: boolean
}

/** The report is public, so its result is held: clients cannot make the node run checks all the time. */
const holdMs = 1000

/** Runs all checks and summarizes their results. */
export class Health {
  readonly #checks: RegistryEntries<HealthCheck>
  readonly #settings: KernelConfiguration['health']
  readonly #startedAt = performance.now()
  #latest: Promise<HealthStatus> | null = null
  #holdMs = 0

  constructor(checks: RegistryEntries<HealthCheck>, settings: KernelConfiguration['health']) {
    this.#checks = checks
    this.#settings = settings
  }

  /** From now on anybody may ask. Until then only the parent of a node on trial can, and gets fresh results. */
  admitTraffic(): void {
    this.#holdMs = holdMs
  }

  /** Returns a result that is at most one second old. Concurrent calls share one run of the checks. */
  status(): Promise<HealthStatus> {
    if (this.#holdMs === 0) return this.#runChecks()
    this.#latest ??= this.#runChecks().finally(() => {
      setTimeout(() => {
        this.#latest = null
      }, this.#holdMs).unref()
    })
    return this.#latest
  }

  async #runChecks(): Promise<HealthStatus> {
    const checks = this.#checks
    const { required, timeoutMs } = this.#settings
    const results = checks
      .names()
      .map(async (name) => [name, await runCheck(checks, name, timeoutMs)] as const)
    const findings: Record<string, HealthFinding> = Object.fromEntries(await Promise.all(results))
    // A required check that does not exist is listed too, so that the owner sees why the node counts as down.
    for (const name of required) findings[name] ??= { ok: false, state: 'disabled' }
    const allPass = Object.values(findings).every(({ ok }) => ok)
    const serving = required.every((name) => findings[name]?.ok === true)
    return {
      report: {
        status: allPass && serving ? 'ok' : 'degraded',
        database: findings.database?.state ?? 'disabled',
        ipfs: findings.ipfs?.state ?? 'disabled',
        uptime: Math.floor((performance.now() - this.#startedAt) / 1000),
      },
      findings,
      attention: attentionOf(findings),
      serving,
    }
  }
}

/** Everything that failed or has a warning. A failure without a message gets one, so that people always read a sentence. */
function attentionOf(findings: Readonly<Record<string, HealthFinding>>): Attention[] {
  return Object.entries(findings)
    .filter(([, { ok, message }]) => !ok || message !== undefined)
    .map(([name, { ok, state, message }]) => ({ name, ok, state, message: message ?? failing(name, state) }))
    .sort((one, other) => Number(one.ok) - Number(other.ok))
}

function failing(name: string, state: string): string {
  return `The check "${name}" fails (${state}). Look at the log of the node.`
}

async function runCheck(
  checks: RegistryEntries<HealthCheck>,
  name: string,
  timeoutMs: number,
): Promise<HealthFinding> {
  const abort = new AbortController()
  try {
    const work = checks.call(name, abort.signal, (check, signal) => check.check(signal))
    const { ok, state, message } = await withTimeLimit(work, timeoutMs, 'late')
    return {
      ok: ok === true,
      state: String(state),
      ...(message !== undefined && { message: String(message) }),
    }
  } catch {
    return { ok: false, state: 'unreachable' }
  } finally {
    abort.abort()
  }
}
