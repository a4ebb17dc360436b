import type { ErrorSerializer } from '@nodekeep/plugin-sdk'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { errorBody, type PublicError, toPublicError } from '../errors/public-error.ts'

/** Answers whatever was thrown, in the node's form or in the route's own, and logs what is the node's fault. */
export function sendError(thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const error = toPublicError(thrown, request.id)
  if (error.internal) request.log.error({ err: thrown, path: pathOf(request) }, error.message)
  return sendPublicError(error, reply, request.routeOptions.config?.serializeError)
}

/** Sends an error, written by the given serializer or else in the node's form. */
export function sendPublicError(
  { status, message, code, headers }: PublicError,
  reply: FastifyReply,
  serializeError: ErrorSerializer = nodeForm,
): FastifyReply {
  const { contentType, body } = serializeError({ error: true, message, code, status })
  return reply.code(status).headers(headers).type(contentType).serializer(asIs).send(body)
}

/** The path without its query, where people put what doesn't belong into a log. */
export function pathOf({ url }: FastifyRequest): string {
  return url.split('?', 1)[0] ?? ''
}

const nodeForm: ErrorSerializer = (error) => ({
  contentType: 'application/json; charset=utf-8',
  body: errorBody(error),
})

/** Keeps a route's response schema from rewriting an error. */
function asIs(payload: unknown): string {
  return String(payload)
}
