import type { FastifyReply, FastifyRequest } from 'fastify'
import { publicError } from '../errors/public-error.ts'
import type { RouteTable } from './route-table.ts'
import { sendPublicError } from './send-error.ts'

/** Answers what no route is there for: 405 where the path has other methods, otherwise 404. */
export function createNotFoundHandler(table: RouteTable) {
  return (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const path = request.url.split('?', 1)[0] ?? ''
    const methods = table.methods(path)
    const error =
      methods.length === 0
        ? publicError('NOT_FOUND', `There is nothing at ${path}.`)
        : publicError(
            'METHOD_NOT_ALLOWED',
            `${path} does not take ${request.method}, only ${methods.join(', ')}.`,
            {
              allow: methods.join(', '),
            },
          )
    return sendPublicError(error, reply, table.foreignErrors(path))
  }
}
