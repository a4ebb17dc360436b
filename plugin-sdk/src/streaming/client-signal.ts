import type { FastifyReply } from 'fastify'
import { NodekeepError } from '../errors.ts'

/** One error for all requests. Every request ends with it, and a stack for each costs more than the rest of the signal. */
const clientLeft = new NodekeepError('REQUEST_TIMEOUT', 'The client left before it was answered.')

/**
 * Returns a signal that aborts when the client of a request closes the connection, for routes that do long work. The
 * signal also aborts when the answer is complete, so work that outlives the answer needs another signal.
 *
 * Its reason is an error that a route may throw: the node logs no failure for it. Do not use Fastify's own
 * `request.signal` for this: if the request has a body, it aborts as soon as the body was read.
 *
 * @example const answer = await slowService.ask(question, clientSignal(reply))
 */
export function clientSignal({ raw: response }: FastifyReply): AbortSignal {
  const controller = new AbortController()
  const abort = () => controller.abort(clientLeft)
  if (response.closed || response.destroyed) abort()
  else response.once('close', abort)
  return controller.signal
}
