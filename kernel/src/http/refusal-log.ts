import type { FastifyRequest } from 'fastify'
import type { PublicError } from '../errors/public-error.ts'
import { logSecurityEvent } from '../log/security-events.ts'
import { AddressCounter } from './address-counter.ts'
import { loggedPathOf } from './request-path.ts'

/** Lines for one address within a minute. More would let a client fill the disk of the log. */
const linesPerMinute = 100

const logged = new Set<string>(['UNAUTHORIZED', 'FORBIDDEN', 'TOO_MANY_REQUESTS'])

/**
 * Logs the requests that were refused because of their sender: a wrong proof or token, a right that the user does not
 * have, a limit. One of them serves the whole node.
 */
export class RefusalLog {
  readonly #presentsToken: (request: FastifyRequest) => boolean
  readonly #lines = new AddressCounter()

  /**
   * @param presentsToken tells whether a request has the session cookie that only this node sets, or presents a token as its route
   * takes it
   */
  constructor(presentsToken: (request: FastifyRequest) => boolean) {
    this.#presentsToken = presentsToken
  }

  /** Writes a line about the answer to a request if it is such a refusal. */
  note(request: FastifyRequest, { code, message: reason }: PublicError): void {
    if (!logged.has(code) || (code === 'UNAUTHORIZED' && this.#isAnonymous(request))) return
    const { count, seconds } = this.#lines.count(request.ip)
    if (count > linesPerMinute + 1) return
    if (count > linesPerMinute) {
      const message = `Further refusals of this address are not logged for ${seconds} seconds.`
      logSecurityEvent(request, 'refusals-omitted', message)
      return
    }
    const { method } = request
    const details = { method, path: loggedPathOf(request), code, reason }
    logSecurityEvent(request, 'refused', 'A request was refused.', details)
  }

  /** Returns whether a request merely needs a sign-in. It has tried no token of this node and no proof. */
  #isAnonymous(request: FastifyRequest): boolean {
    const { headers, routeOptions } = request
    const { access } = routeOptions.config
    return access !== 'public' && headers.authorization === undefined && !this.#presentsToken(request)
  }
}
