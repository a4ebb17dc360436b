import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { publicError } from '../errors/public-error.ts'
import { isStrayPreflight } from './cors.ts'
import { pathOf } from './request-path.ts'
import type { RouteTable } from './route-table.ts'
import { sendPublicError } from './send-error.ts'

/** Makes an instance answer requests without a route: 405 if the path has other methods, otherwise 404. */
export function answerNotFound(instance: FastifyInstance, table: RouteTable): void {
  const answer = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const path = pathOf(request)
    const methods = table.methods(path)
    const taken = methods.length > 0 && !methods.includes(request.method)
    const error = taken
      ? publicError(
          'METHOD_NOT_ALLOWED',
          `${path} does not take ${request.method}, only ${methods.join(', ')}.`,
          { allow: methods.join(', ') },
        )
      : publicError('NOT_FOUND', `There is nothing at ${path}.`)
    return sendPublicError(error, reply, table.foreignErrors(path))
  }
  instance.setNotFoundHandler(answer)
  // This hook runs before the body is read: nobody wants it.
  instance.addHook('onRequest', (request, reply, done) => {
    if (request.is404 || isStrayPreflight(request)) answer(request, reply)
    else done()
  })
}
