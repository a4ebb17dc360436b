import { defineRegistry, defineService, lackingMethod } from '../service.ts'

/** The result of a check. */
export interface HealthFinding {
  readonly ok: boolean
  /** One word for the report, such as `connected`, `available`, `unreachable`. */
  readonly state: string
  /** Sentences for the owner of the node: what is wrong, and what to do. Beside `ok`, it is a warning. Only the owner sees it. */
  readonly message?: string
}

/**
 * Checks one part of the node. The configuration (`health.required`) uses its name in the registry. The checks named
 * `database` and `ipfs` fill the fields of `GET /health` (interface, "Health report").
 */
export interface HealthCheck {
  /**
   * Runs the check. It must be cheap: the result is public and may be requested every second.
   *
   * @param signal aborted after `health.timeoutMs`; a check that throws or is late counts as not ok
   */
  check(signal: AbortSignal): Promise<HealthFinding> | HealthFinding
}

/** All health checks, by name. */
export const HealthChecks = defineRegistry<HealthCheck>('health-checks', 1, (check) =>
  lackingMethod(check, 'check'),
)

/** Something that needs the owner of the node. */
export interface Attention {
  /** The name of the health check that found it. */
  readonly name: string
  /** Whether the check is well, and this is a warning. */
  readonly ok: boolean
  /** The state of the check, in one word. */
  readonly state: string
  /** Sentences for the owner: what is wrong, and what to do. */
  readonly message: string
}

/** The health of the node, as all checks find it together. */
export interface NodeHealth {
  /** Tells what needs the owner now: failures, then warnings. The result is at most one second old. */
  attention(): Promise<readonly Attention[]>
}

/** The kernel's service that tells what needs the owner. */
export const NodeHealth = defineService<NodeHealth>('node-health', 1)
