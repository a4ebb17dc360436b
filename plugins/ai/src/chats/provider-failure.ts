import { type ErrorCode, isNodekeepError, type Log, NodekeepError } from '@nodekeep/plugin-sdk'
import type { ModelChoice } from './fallbacks.ts'

/** Codes that a client may see from a provider. Others, such as UNAUTHORIZED, would seem to be about the node. */
const publicCodes: ReadonlySet<ErrorCode> = new Set([
  'VALIDATION_ERROR',
  'NOT_FOUND',
  'PAYLOAD_TOO_LARGE',
  'UNPROCESSABLE',
  'TOO_MANY_REQUESTS',
  'UPSTREAM_ERROR',
  'UPSTREAM_TIMEOUT',
  'SERVICE_UNAVAILABLE',
])

const retriable: ReadonlySet<ErrorCode> = new Set([
  'TOO_MANY_REQUESTS',
  'UPSTREAM_ERROR',
  'UPSTREAM_TIMEOUT',
  'SERVICE_UNAVAILABLE',
])

/** Turns anything that a provider threw into an error that the client may see. */
export function providerFailure(provider: string, thrown: unknown): NodekeepError {
  try {
    const failure = publicFailure(thrown)
    if (failure !== null) return failure
  } catch {
    // The value may be an object whose properties throw.
  }
  return new NodekeepError('UPSTREAM_ERROR', `The AI provider "${provider}" failed. Try again later.`, {
    cause: thrown,
  })
}

/** Returns the provider's own error, or `null` if a client may not see it. */
function publicFailure(thrown: unknown): NodekeepError | null {
  if (!isNodekeepError(thrown) || !publicCodes.has(thrown.code)) return null
  const { code, message, cause, permanent, logged } = thrown
  const wait = retryAfterSeconds(thrown)
  const headers: Record<string, string> = wait === null ? {} : { 'retry-after': String(wait) }
  return new NodekeepError(code, message, { cause, permanent, logged, headers })
}

/** Tells whether a retry with the same provider may succeed. */
export function isRetriable({ code, permanent }: NodekeepError): boolean {
  return !permanent && retriable.has(code)
}

/** Tells whether the provider failed, rather than the request. Then another provider may reply. */
export function isProvidersFault({ code }: NodekeepError): boolean {
  return retriable.has(code)
}

/**
 * Logs a failure that lasts until the owner acts, such as a missing key. One line is enough, because nothing went wrong
 * within the node.
 *
 * @returns the same failure, marked as logged
 */
export function logLasting(
  failure: NodekeepError,
  { provider, model }: ModelChoice,
  log: Log,
): NodekeepError {
  const { code, message, cause, headers, permanent, logged } = failure
  if (!permanent || logged || !isProvidersFault(failure)) return failure
  const reason = cause instanceof Error ? { reason: cause.message } : {}
  log.warn({ provider, model, code, ...reason }, message)
  return new NodekeepError(code, message, { cause, headers, permanent, logged: true })
}

/** Returns the `retry-after` of a failure in seconds, or `null` if it has none that is valid. */
export function retryAfterSeconds({ headers }: NodekeepError): number | null {
  const text: unknown = headers?.['retry-after']
  return typeof text === 'string' && /^\d{1,9}$/.test(text) ? Number(text) : null
}
