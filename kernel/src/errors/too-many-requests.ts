import { NodekeepError } from '@nodekeep/plugin-sdk'

/**
 * Makes the error for a client that has reached a limit.
 *
 * @param what a sentence that names the limit
 * @param wait seconds until the client may try again
 */
export function tooManyRequests(what: string, wait: number): NodekeepError {
  return new NodekeepError('TOO_MANY_REQUESTS', `${what} Try again in ${wait} seconds.`, {
    headers: { 'retry-after': String(wait) },
  })
}
