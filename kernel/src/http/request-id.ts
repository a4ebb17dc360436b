import { randomBytes } from 'node:crypto'

/**
 * Makes request ids: unique over restarts, short, and never taken from the client. A counter behind a random
 * prefix costs less than randomness for each request.
 */
export function createRequestIds(): () => string {
  const prefix = randomBytes(4).toString('hex')
  let count = 0
  return () => `${prefix}-${++count}`
}
