import { NodekeepError } from '@nodekeep/plugin-sdk'

const defaultRetrySeconds = 30
const maxRetrySeconds = 3600

/**
 * Makes the error for an answer that differs from Particle Network's documentation.
 *
 * @param detail the problem, for the log
 */
export function misunderstood(detail: string): NodekeepError {
  return new NodekeepError(
    'UPSTREAM_ERROR',
    'Particle Network gave an answer that the node does not understand. Try again later.',
    { cause: new Error(`The answer of Particle Network cannot be used: ${detail}.`) },
  )
}

/**
 * Makes the error for a server that asks to try again later.
 *
 * @param retryAfter its `retry-after`: seconds or a date (RFC 9110, section 10.2.3)
 */
export function busy(retryAfter: string | null): NodekeepError {
  return new NodekeepError('SERVICE_UNAVAILABLE', 'Particle Network is busy. Try again later.', {
    headers: { 'retry-after': String(retrySeconds(retryAfter)) },
  })
}

function retrySeconds(retryAfter: string | null): number {
  if (retryAfter === null) return defaultRetrySeconds
  const seconds = /^\d+$/.test(retryAfter)
    ? Number(retryAfter)
    : Math.ceil((Date.parse(retryAfter) - Date.now()) / 1000)
  return Number.isNaN(seconds) ? defaultRetrySeconds : Math.min(Math.max(seconds, 1), maxRetrySeconds)
}
