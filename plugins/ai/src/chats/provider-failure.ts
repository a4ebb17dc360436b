import { type ErrorCode, isNodekeepError, NodekeepError } from '@nodekeep/plugin-sdk'

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
  if (!isNodekeepError(thrown) || !sayable.has(thrown.code)) {
    return new NodekeepError('UPSTREAM_ERROR', `The AI provider "${provider}" failed. Try again later.`, {
      cause: thrown,
    })
  }
  const { code, message, cause, permanent } = thrown
  const wait = retryAfterSeconds(thrown)
  const headers: Record<string, string> = wait === null ? {} : { 'retry-after': String(wait) }
  return new NodekeepError(code, message, { cause, permanent, headers })
}

/** Whether the same provider may succeed when it is asked again. */
export function isRetriable({ code, permanent }: NodekeepError): boolean {
  return !permanent && retriable.has(code)
}

/** Whether it is the provider that failed, so that another one may reply in its place. */
export function isProvidersFault({ code }: NodekeepError): boolean {
  return retriable.has(code)
}

/** How long the provider asks to wait, in seconds; `null` when it says nothing that makes sense. */
export function retryAfterSeconds({ headers }: NodekeepError): number | null {
  const text: unknown = headers?.['retry-after']
  return typeof text === 'string' && /^\d{1,9}$/.test(text) ? Number(text) : null
}
