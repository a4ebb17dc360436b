import {
  type ErrorCode,
  isNodekeepError,
  type Log,
  NodekeepError,
  type NodekeepErrorOptions,
} from '@nodekeep/plugin-sdk'

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

/** The reason of a failure that is a fault of the provider's plugin, not of its server. The log needs its stack. */
const providerFault = 'provider_fault'

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
    reason: providerFault,
  })
}

/** Returns the provider's own error, or `null` if a client may not see it. */
function publicFailure(thrown: unknown): NodekeepError | null {
  if (!isNodekeepError(thrown) || !publicCodes.has(thrown.code)) return null
  const wait = retryAfterSeconds(thrown)
  const headers: Record<string, string> = wait === null ? {} : { 'retry-after': String(wait) }
  return changed(thrown, { headers })
}

/** Returns a failure with other options. */
export function changed(failure: NodekeepError, options: NodekeepErrorOptions): NodekeepError {
  // An error of another copy of the SDK may lack the later fields.
  const { code, message, cause, headers, permanent, logged, reason } = failure
  const unchanged = { cause, headers, permanent, logged, ...(reason && { reason }) }
  return new NodekeepError(code, message, { ...unchanged, ...options })
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
 * Logs the failure of a provider in one line, because nothing went wrong within the node. Only a fault of the provider's
 * plugin gets a stack. Failures of the request are not logged.
 *
 * @returns the same failure, marked as logged
 */
export function logFailure(
  failure: NodekeepError,
  { provider, model }: { readonly provider: string; readonly model: string },
  log: Log,
): NodekeepError {
  if (failure.logged || !isProvidersFault(failure)) return failure
  const { code, message } = failure
  if (failure.reason === providerFault) log.error({ provider, model, err: failure }, message)
  else log.warn({ provider, model, code, ...reasonOf(failure) }, message)
  return changed(failure, { logged: true })
}

/** Longest chain of causes in a log line. A cause may be its own cause. */
const maxCauses = 5

/** Returns the field of a log line for the cause of a failure: the messages of the causes, without their stacks. */
export function reasonOf({ cause, reason }: NodekeepError): { reason?: string; err?: unknown } {
  if (reason === providerFault) return { err: cause }
  const messages: string[] = []
  for (let error = cause; error instanceof Error && messages.length < maxCauses; ) {
    // The error of a connection that failed at several addresses has no message.
    const { message, code = '' } = error as NodeJS.ErrnoException
    messages.push(message || code)
    error = error.cause
  }
  return messages.length === 0 ? {} : { reason: messages.join(': ') }
}

/** Returns the `retry-after` of a failure in seconds, or `null` if it has none that is valid. */
export function retryAfterSeconds({ headers }: NodekeepError): number | null {
  const text: unknown = headers?.['retry-after']
  return typeof text === 'string' && /^\d{1,9}$/.test(text) ? Number(text) : null
}
