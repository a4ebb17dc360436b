import { defineRegistry } from '../service.ts'

/** What a check found. */
export interface HealthFinding {
  readonly ok: boolean
  /** One word for the report, such as `connected`, `available`, `unreachable`. */
  readonly state: string
}

/**
 * Tells how one part of the node is. The name in the registry is what configuration (`health.required`) calls it.
 * The names `database` and `ipfs` fill the fields of `GET /health` (interface, "Health report").
 */
export interface HealthCheck {
  /**
   * Looks, cheaply: the answer is public and may be asked for every second.
   *
   * @param signal aborted after `health.timeoutMs`; a check that throws or is late counts as not ok
   */
  check(signal: AbortSignal): Promise<HealthFinding> | HealthFinding
}

/** All health checks, by name. */
export const HealthChecks = defineRegistry<HealthCheck>('health-checks', 1)
