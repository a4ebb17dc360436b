import type { ErrorSerializer } from '@nodekeep/plugin-sdk'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { errorBody, type PublicError, toPublicError } from '../errors/public-error.ts'
import { validateHeaderName, validateHeaderValue } from './node-http.ts'
import type { RefusalLog } from './refusal-log.ts'
import { replaceMethod } from './replace-method.ts'
import { hasLargeRemainder } from './request-body.ts'
import { loggedPathOf } from './request-path.ts'
import { isUpgrade } from './web-sockets.ts'
import { sendErrorRaw } from './write-error.ts'

/** Headers of the answer that a route had prepared. They do not belong to the error that replaces it. */
const contentHeaders = [
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

/** The parts of the node that learn of errors. */
export interface ErrorWatchers {
  readonly refusals: RefusalLog
  /** Runs when a request failed because a disk is full. */
  readonly onDiskFull: () => void
}

/**
 * Answers anything that was thrown, in the node's form or in the route's own. Logs the node's own faults, and the
 * refusals that concern security.
 */
export function sendError(
  thrown: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  { refusals, onDiskFull }: ErrorWatchers,
): FastifyReply {
  const error = toPublicError(thrown, request.id)
  logFault(thrown, error, request)
  refusals.note(request, error)
  if (error.code === 'INSUFFICIENT_STORAGE') onDiskFull()
  return sendPublicError(error, reply, request.routeOptions.config?.serializeError)
}

/** Sends an error, written by the given serializer or in the node's form. */
export function sendPublicError(
  error: PublicError,
  reply: FastifyReply,
  serializeError: ErrorSerializer = nodeForm,
): FastifyReply {
  for (const name of contentHeaders) reply.removeHeader(name)
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (!isSendable(name, value)) reply.removeHeader(name)
  }
  // Fastify closes the connection after every bad body. That is needed only if a large part of it is still to arrive.
  // Without the header, Node would no longer announce that it closes the connection for another reason.
  const { raw } = reply.request
  const closes = !reply.raw.shouldKeepAlive || hasLargeRemainder(raw) || isUpgrade(raw)
  if (closes || reply.hasHeader('connection')) reply.header('connection', closes ? 'close' : 'keep-alive')
  for (const [name, value] of Object.entries(error.headers)) {
    if (isSendable(name, value)) reply.header(name, value)
  }
  if (failing.has(reply)) {
    sendErrorRaw(reply, error)
    return reply
  }
  const { contentType, body } = write(error, reply, serializeError)
  // Without it, the route's response schema would rewrite the error.
  reply.code(error.status).type(contentType).serializer(String)
  const { send } = reply
  // After the answer is sent, Fastify itself reports that another one is too late.
  replaceMethod(reply, 'send', (thrown: unknown) =>
    reply.sent ? send.call(reply, thrown) : sendLastResort(thrown, reply),
  )
  failing.add(reply)
  return send.call(reply, body)
}

/** Replies that send an error. A further error means that sending the first one failed. */
const failing = new WeakSet<FastifyReply>()

/**
 * Answers when an error could not be sent, for example because an `onSend` hook throws. Fastify would send an error
 * in its own form, which shows the cause.
 */
function sendLastResort(thrown: unknown, reply: FastifyReply): FastifyReply {
  const { request } = reply
  const error = toPublicError(thrown, request.id)
  logFault(thrown, error, request)
  sendErrorRaw(reply, error)
  return reply
}

function logFault(err: unknown, { code, internal, message }: PublicError, request: FastifyRequest): void {
  if (request.raw.socket.destroyed)
    request.log.debug({ err, path: loggedPathOf(request) }, 'The client left.')
  // A full disk is no fault of the code, and each upload to it fails. A stack for each would fill the log.
  else if (code === 'INSUFFICIENT_STORAGE') request.log.warn({ path: loggedPathOf(request) }, message)
  else if (internal) request.log.error({ err, path: loggedPathOf(request) }, message)
}

function write(error: PublicError, reply: FastifyReply, serializeError: ErrorSerializer) {
  const { message, code, status, reason = null } = error
  try {
    const { contentType, body } = serializeError({ error: true, message, code, status, reason })
    if (typeof contentType !== 'string' || !isSendable('content-type', contentType)) {
      throw new TypeError('It must return a "contentType" that is valid in a header.')
    }
    if (typeof body !== 'string') throw new TypeError('It must return a "body" that is a string.')
    return { contentType, body }
  } catch (fault) {
    reply.log.error({ err: fault }, 'The serializer of these errors failed.')
    return nodeForm({ error: true, message, code, status, reason })
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
