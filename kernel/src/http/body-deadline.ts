import type { IncomingMessage, ServerResponse } from 'node:http'
import { NodekeepError } from '@nodekeep/plugin-sdk'

/** Whether a request announces a body. */
export function announcesBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

/**
 * Watches over a request whose body doesn't come. A buffered body has to be complete in time; a streamed one only
 * must not stall for that long. A stall that the reading side causes is not the client's and doesn't count.
 * Who reads the body is told by an error; who then doesn't answer loses the connection.
 *
 * Node's own `requestTimeout` can't tell the two apart: it would cut every long upload.
 */
export function watchBody(
  request: IncomingMessage,
  response: ServerResponse,
  ms: number,
  kind: 'buffered' | 'stream',
): void {
  const { socket } = request
  let seen = socket.bytesRead
  let waited = false
  const timer = setInterval(() => {
    const { bytesRead } = socket
    const isFed = waited || bytesRead > seen || isUnread(request)
    seen = bytesRead
    // Who waited for the reader a moment ago has had no time to send more.
    waited = isUnread(request)
    if (kind === 'stream' && isFed) return
    clearInterval(timer)
    if (request.complete) return
    const cut = setTimeout(() => socket.destroy(), ms)
    socket.once('close', () => clearTimeout(cut))
    failBody(request, tooLate(ms))
  }, ms)
  const stop = () => clearInterval(timer)
  request.once('end', stop)
  response.once('close', stop)
}

/** Makes reading a body fail with an error, without ending the connection: the error is still to be answered. */
export function failBody(request: IncomingMessage, error: NodekeepError): void {
  request._destroy = (cause, done) => done(request.listenerCount('error') > 0 ? cause : null)
  request.destroy(error)
}

function isUnread({ readableLength, readableHighWaterMark }: IncomingMessage): boolean {
  return readableLength >= readableHighWaterMark
}

function tooLate(ms: number): NodekeepError {
  return new NodekeepError(
    'REQUEST_TIMEOUT',
    `The request body did not arrive in time: ${ms / 1000} seconds without it.`,
    { headers: { connection: 'close' } },
  )
}
