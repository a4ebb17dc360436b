import type { FastifyReply, FastifyRequest } from 'fastify'
import { publicError } from '../errors/public-error.ts'
import { pathOf } from './request-path.ts'
import type { RouteTable } from './route-table.ts'
import { sendPublicError } from './send-error.ts'

/** Tells clients that no route has the path, such as while its plugin is off. A route answers 404 for what it does not have. */
const noRoute = { 'nodekeep-route': 'none' }

/** Makes the answer to requests without a route: 405 if the path has other methods, otherwise 404. */
export function createNotFound(table: RouteTable) {
  return (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const path = pathOf(request)
    const methods = table.methods(path)
    const taken = methods.length > 0 && !methods.includes(request.method)
    const error = taken
      ? publicError(
          'METHOD_NOT_ALLOWED',
          `${path} does not take ${request.method}, only ${methods.join(', ')}.`,
          { allow: methods.join(', ') },
        )
      : publicError('NOT_FOUND', `There is nothing at ${path}.`, methods.length > 0 ? {} : noRoute)
    // A route that calls `reply.callNotFound()` may have a form of errors of its own.
    const serializeError = request.routeOptions.config?.serializeError ?? table.foreignErrors(path)
    return sendPublicError(error, reply, serializeError)
  }
}
