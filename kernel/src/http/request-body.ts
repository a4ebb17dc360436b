import type { IncomingMessage, ServerResponse } from 'node:http'
import { NodekeepError } from '@nodekeep/plugin-sdk'
import { closeLingering } from './closing.ts'
import { replaceMethod } from './replace-method.ts'

/** Bytes of an unwanted body that are still read, so that the connection can be used again. */
const smallBody = 64 * 1024

/** Returns whether a request announces a body. */
export function announcesBody({ headers }: IncomingMessage): boolean {
  const length = headers['content-length'] ?? '0'
  return headers['transfer-encoding'] !== undefined || length !== '0'
}

/** Returns whether the rest of a request body may be too large to read and discard. */
export function hasLargeRemainder({ complete, headers }: IncomingMessage): boolean {
  if (complete) return false
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > smallBody
}

/**
 * Limits the time of a request body. A buffered body must be complete within the limit. A streamed body must only not
 * stall for that long: Node's own `requestTimeout` would cut every long upload. A stall that the reading side causes
 * does not count.
 *
 * The reader of a late body gets an error. If the route still does not answer within the limit, the connection is
 * closed.
 *
 * @param ms milliseconds. A stall is noticed within twice that time.
 */
export function limitBodyTime(
  request: IncomingMessage,
  response: ServerResponse,
  kind: 'buffered' | 'stream',
  ms: number,
): void {
  if (request.complete) return
  const { socket } = request
  let bytesRead = socket.bytesRead
  let waitedForReader = false
  let isLate = false
  const timer = setTimeout(() => {
    if (isLate) {
      socket.destroy()
      return
    }
    if (request.complete) return
    const waitsForReader = request.readableLength >= request.readableHighWaterMark
    // A client that waited for the reader until a moment ago had no time to send more.
    const moved = socket.bytesRead > bytesRead || waitsForReader || waitedForReader
    bytesRead = socket.bytesRead
    waitedForReader = waitsForReader
    isLate = kind === 'buffered' || !moved
    if (isLate) failBody(request, tooLate(ms))
    timer.refresh()
  }, ms)
  timer.unref()
  response.once('close', () => clearTimeout(timer))
}

/**
 * Makes reading a body fail with an error, now or when it is read. The connection stays open, so that the error can be
 * answered.
 */
export function failBody(request: IncomingMessage, error: NodekeepError): void {
  replaceMethod(request, '_destroy', (cause, done) => done(request.listenerCount('error') > 0 ? cause : null))
  if (request.listenerCount('error') > 0 || request.readableFlowing !== null) request.destroy(error)
  else replaceMethod(request, '_read', () => request.destroy(error))
}

/**
 * Discards the rest of an answered request's body. A small rest has `ms` milliseconds to arrive. With a large rest, the
 * connection ends.
 */
export function discardBody(request: IncomingMessage, ms: number): void {
  const { socket } = request
  if (hasLargeRemainder(request)) {
    closeLingering(socket)
    return
  }
  const timer = setTimeout(() => {
    if (!request.complete) socket.destroy()
  }, ms)
  const stop = () => {
    clearTimeout(timer)
    socket.off('close', stop)
  }
  request.once('end', stop)
  socket.once('close', stop)
}

function tooLate(ms: number): NodekeepError {
  return new NodekeepError(
    'REQUEST_TIMEOUT',
    `The request body did not arrive in time. The limit is ${ms / 1000} seconds without it.`,
    { headers: { connection: 'close' } },
  )
}
