import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { errorBody, type PublicError } from '../errors/public-error.ts'
import { closeLingering } from './closing.ts'
import { STATUS_CODES } from './node-http.ts'

/** Answers an error where no Fastify instance is concerned. */
export function answerDirectly(response: ServerResponse, error: PublicError, requestId: string): void {
  const body = errorBody(error)
  response.writeHead(error.status, {
    ...error.headers,
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    'x-request-id': requestId,
  })
  response.end(response.req.method === 'HEAD' ? undefined : body)
}

/** Answers an error past Fastify, which cannot bring its answer to an end. What was sent of that is cut off. */
export function answerInstead(reply: FastifyReply, error: PublicError): void {
  const { raw } = reply
  if (raw.writableEnded || raw.destroyed) return
  if (raw.headersSent) {
    raw.destroy()
    return
  }
  reply.hijack()
  for (const name of raw.getHeaderNames()) raw.removeHeader(name)
  answerDirectly(raw, error, reply.request.id)
}

/** Answers an error on a bare connection, where Node has made no response, and ends the connection. */
export function answerOnSocket(socket: Duplex, error: PublicError, requestId: string): void {
  if (!socket.writable) {
    socket.destroy()
    return
  }
  const body = errorBody(error)
  const headers = {
    ...error.headers,
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
    'x-request-id': requestId,
    date: new Date().toUTCString(),
    connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status] ?? 'Error'}\r\n${lines.join('')}\r\n${body}`,
  )
  closeLingering(socket)
}
