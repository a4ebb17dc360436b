import { AsyncResource } from 'node:async_hooks'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { NodekeepError } from '@nodekeep/plugin-sdk'

/** Whether a request announces a body. */
export function announcesBody({ headers }: IncomingMessage): boolean {
  const length = headers['content-length'] ?? '0'
  return headers['transfer-encoding'] !== undefined || length !== '0'
}

/** So many looks are taken until a body is late. */
const looks = 8

/** What is known of the latest body on a connection. */
interface Body {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly kind: 'buffered' | 'stream'
  /** The number of the look since which it is waited for. */
  since: number
  /** Bytes that had come on the connection then. */
  seen: number
  /** Whether it was the reader who was waited for. */
  waited: boolean
}

/**
 * Watches over requests whose bodies don't come. A buffered body has to be complete in time; a streamed one only must
 * not stall for that long. A stall that the reading side causes is not the client's and doesn't count.
 * Who reads the body is told by an error; who then doesn't answer loses the connection.
 *
 * Node's own `requestTimeout` cannot tell the two apart: it would cut every long upload. And a timer for each request
 * would take longer than reading a small body; so one looks now and then at those that have not come.
 */
export class BodyDeadlines {
  readonly #ms: number
  /** One for each connection, on which bodies come one after the other. What has come is dropped at the next look. */
  readonly #coming = new Map<Duplex, Body>()
  #look = 0
  /** Where this was made: what looks at all bodies must not run on the account of the request that came first. */
  readonly #context = new AsyncResource('BodyDeadlines')
  #timer: NodeJS.Timeout | undefined

  /** @param ms milliseconds; it may become an eighth more */
  constructor(ms: number) {
    this.#ms = ms
  }

  watch(request: IncomingMessage, response: ServerResponse, kind: Body['kind']): void {
    // What runs before this may wait, and meanwhile the next request of the connection may have come.
    if (request.complete) return
    const { socket } = request
    const { bytesRead: seen } = socket
    this.#coming.set(socket, { request, response, kind, since: this.#look, seen, waited: false })
    this.#timer ??= this.#context.runInAsyncScope(() =>
      setInterval(() => this.#lookAtAll(), this.#ms / looks).unref(),
    )
  }

  #lookAtAll(): void {
    this.#look += 1
    for (const [socket, body] of this.#coming) {
      if (body.request.complete || body.response.closed) this.#coming.delete(socket)
      else if (this.#look - body.since > looks) this.#judge(body)
    }
    if (this.#coming.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #judge(body: Body): void {
    const { request, kind, seen, waited } = body
    const { socket } = request
    const isFed = waited || socket.bytesRead > seen || isUnread(request)
    body.since = this.#look - 1
    body.seen = socket.bytesRead
    // Who waited for the reader a moment ago has had no time to send more.
    body.waited = isUnread(request)
    if (kind === 'stream' && isFed) return
    this.#coming.delete(socket)
    const cut = setTimeout(() => socket.destroy(), this.#ms)
    socket.once('close', () => clearTimeout(cut))
    failBody(request, tooLate(this.#ms))
  }
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
