import { type ErrorCode, isNodekeepError, type Log, NodekeepError } from '@nodekeep/plugin-sdk'
import type { ModelChoice } from './fallbacks.ts'

/** What a provider may say to the client. Another code, such as UNAUTHORIZED, would seem to be about the node. */
const sayable: ReadonlySet<ErrorCode> = new Set([
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

/** Turns whatever a provider threw into an error that the client may see. */
export function providerFailure(provider: string, thrown: unknown): NodekeepError {
  try {
    const said = saidBy(thrown)
    if (said !== null) return said
  } catch {
    // It may be an object that throws when it is looked at.
  }
  return new NodekeepError('UPSTREAM_ERROR', `The AI provider "${provider}" failed. Try again later.`, {
    cause: thrown,
  })
}

/** What a provider says itself; `null` when it says nothing that a client may see. */
function saidBy(thrown: unknown): NodekeepError | null {
  if (!isNodekeepError(thrown) || !sayable.has(thrown.code)) return null
  const { code, message, cause, permanent, logged } = thrown
  const wait = retryAfterSeconds(thrown)
  const headers: Record<string, string> = wait === null ? {} : { 'retry-after': String(wait) }
  return new NodekeepError(code, message, { cause, permanent, logged, headers })
}

/** Whether the same provider may succeed when it is asked again. */
export function isRetriable({ code, permanent }: NodekeepError): boolean {
  return !permanent && retriable.has(code)
}

/** Whether it is the provider that failed, so that another one may reply in its place. */
export function isProvidersFault({ code }: NodekeepError): boolean {
  return retriable.has(code)
}

/**
 * Tells the log of a failure that lasts until the owner does something, such as a key that is missing: in one line, since
 * nothing went wrong within the node.
 *
 * @returns the same failure, which the node does not log once more
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

/** How long the provider asks to wait, in seconds; `null` when it says nothing that makes sense. */
export function retryAfterSeconds({ headers }: NodekeepError): number | null {
  const text: unknown = headers?.['retry-after']
  return typeof text === 'string' && /^\d{1,9}$/.test(text) ? Number(text) : null
}
