import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { errorBody, type PublicError } from '../errors/public-error.ts'
import { closeLingering } from './closing.ts'
import { STATUS_CODES } from './node-http.ts'

/** Writes an error to a response that no Fastify instance handles. */
export function writeError(response: ServerResponse, error: PublicError, requestId: string): void {
  const body = errorBody(error)
  response.writeHead(error.status, {
    ...error.headers,
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    'x-request-id': requestId,
  })
  response.end(response.req.method === 'HEAD' ? undefined : body)
}

/** Sends an error past Fastify, for a reply that Fastify cannot finish. An answer that has begun is cut off instead. */
export function sendErrorRaw(reply: FastifyReply, error: PublicError): void {
  const { raw } = reply
  if (raw.writableEnded || raw.destroyed) return
  if (raw.headersSent) {
    raw.destroy()
    return
  }
  reply.hijack()
  // Node would no longer announce that it closes the connection if that header was removed.
  for (const name of raw.getHeaderNames()) if (name !== 'connection') raw.removeHeader(name)
  writeError(raw, error, reply.request.id)
}

/** Writes an error to a bare connection, for which Node has made no response, and ends the connection. */
export function writeErrorToSocket(socket: Duplex, error: PublicError, requestId: string): void {
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
