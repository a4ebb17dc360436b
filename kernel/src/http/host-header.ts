import type { IncomingMessage } from 'node:http'
import { type PublicError, publicError } from '../errors/public-error.ts'

/**
 * What is wrong with the `Host` of a request (RFC 9112, section 3.2), or `null`. Of several, a proxy in front and the
 * node might each take another one. Node itself would take the first.
 */
export function hostProblem({ headers, httpVersion, rawHeaders }: IncomingMessage): PublicError | null {
  if (headers.host === undefined) return httpVersion === '1.0' ? null : noHost
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]
    if (name?.length === 4 && name.toLowerCase() === 'host') count += 1
  }
  return count === 1 ? null : manyHosts
}

const noHost = publicError('VALIDATION_ERROR', 'The request has no "Host" header.', { connection: 'close' })
const manyHosts = publicError('VALIDATION_ERROR', 'The request has more than one "Host" header.', {
  connection: 'close',
})
