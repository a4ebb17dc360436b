import type { FastifyReply } from 'fastify'
import { NodekeepError } from '../errors.ts'

const signals = new WeakMap<FastifyReply['raw'], AbortSignal>()

/** One error for all requests: it is needed at the end of each, and taking its stack costs more than the rest. */
const clientLeft = new NodekeepError('REQUEST_TIMEOUT', 'The client left before it was answered.')

/**
 * A signal that aborts when the client of a request leaves, for routes that do long work. It also aborts once the
 * answer is complete, so work that outlives the answer needs another signal.
 *
 * Its reason is an error that a route may throw: the node logs no failure for it. Fastify's own `request.signal` does
 * not serve here: with a body in the request it aborts as soon as the body was read.
 *
 * @example const answer = await slowService.ask(question, clientSignal(reply))
 */
export function clientSignal({ raw: response }: FastifyReply): AbortSignal {
  const known = signals.get(response)
  if (known !== undefined) return known
  const controller = new AbortController()
  const abort = () => controller.abort(clientLeft)
  if (response.closed || response.destroyed) abort()
  else response.once('close', abort)
  signals.set(response, controller.signal)
  return controller.signal
}
