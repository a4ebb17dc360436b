import type { ErrorSerializer } from '@nodekeep/plugin-sdk'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { errorBody, type PublicError, toPublicError } from '../errors/public-error.ts'
import { validateHeaderName, validateHeaderValue } from './node-http.ts'
import { leavesMuch } from './unread-body.ts'
import { isUpgrade } from './web-sockets.ts'

/** Headers of the answer that a route had begun and that an error now stands for. */
const headersOfTheOther = [
  'accept-ranges',
  'cache-control',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-range',
  'etag',
  'expires',
  'last-modified',
]

/** Answers whatever was thrown, in the node's form or in the route's own, and logs what is the node's fault. */
export function sendError(thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const error = toPublicError(thrown, request.id)
  if (request.raw.socket.destroyed)
    request.log.debug({ err: thrown, path: pathOf(request) }, 'The client left.')
  else if (error.internal) request.log.error({ err: thrown, path: pathOf(request) }, error.message)
  return sendPublicError(error, reply, request.routeOptions.config?.serializeError)
}

/** Sends an error, written by the given serializer or else in the node's form. */
export function sendPublicError(
  error: PublicError,
  reply: FastifyReply,
  serializeError: ErrorSerializer = nodeForm,
): FastifyReply {
  for (const name of headersOfTheOther) reply.removeHeader(name)
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (!isSendable(name, value)) reply.removeHeader(name)
  }
  // Fastify closes the connection after every bad body. That is needed only where a part of it is still to come.
  const { raw } = reply.request
  if (leavesMuch(raw) || isUpgrade(raw)) reply.header('connection', 'close')
  else if (reply.hasHeader('connection')) reply.removeHeader('connection')
  for (const [name, value] of Object.entries(error.headers)) {
    if (isSendable(name, value)) reply.header(name, value)
  }
  const { contentType, body } = write(error, reply, serializeError)
  return reply.code(error.status).type(contentType).serializer(asIs).send(body)
}

/** The path of a request without its query, where people put what doesn't belong into a log. */
export function pathOf({ url }: FastifyRequest): string {
  const [path = ''] = url.split(/[?#]/, 1)
  return path.replace(/^[a-z][a-z\d+.-]*:\/\/[^/]*/i, '') || '/'
}

function write(error: PublicError, reply: FastifyReply, serializeError: ErrorSerializer) {
  const { message, code, status } = error
  try {
    return serializeError({ error: true, message, code, status })
  } catch (fault) {
    reply.log.error({ err: fault }, 'The serializer of these errors failed.')
    return nodeForm({ error: true, message, code, status })
  }
}

function isSendable(name: string, value: unknown): boolean {
  try {
    validateHeaderName(name)
    validateHeaderValue(name, value as string)
    return true
  } catch {
    return false
  }
}

const nodeForm: ErrorSerializer = (error) => ({
  contentType: 'application/json; charset=utf-8',
  body: errorBody(error),
})

/** Keeps a route's response schema from rewriting an error. */
function asIs(payload: unknown): string {
  return String(payload)
}
