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
  request: IncomingMessage
  response: ServerResponse
  kind: 'buffered' | 'stream'
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
 * Node's own `requestTimeout` can't tell the two apart: it would cut every long upload. And a timer for each request
 * would take longer than reading a small body; so one looks now and then at those that have not come.
 */
export class BodyDeadlines {
  readonly #ms: number
  /** One for each connection: bodies come one after the other. */
  readonly #bodies = new WeakMap<Duplex, Body>()
  /** Those that had not come when they were looked at last. */
  readonly #coming = new Set<Body>()
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
    const since = this.#look
    const seen = socket.bytesRead
    let body = this.#bodies.get(socket)
    if (body === undefined) {
      body = { request, response, kind, since, seen, waited: false }
      this.#bodies.set(socket, body)
    } else {
      body.request = request
      body.response = response
      body.kind = kind
      body.since = since
      body.seen = seen
      body.waited = false
    }
    this.#coming.add(body)
    this.#timer ??= this.#context.runInAsyncScope(() =>
      setInterval(() => this.#lookAtAll(), this.#ms / looks).unref(),
    )
  }

  #lookAtAll(): void {
    this.#look += 1
    for (const body of this.#coming) {
      if (body.request.complete || body.response.closed) this.#forget(body)
      else if (this.#look - body.since > looks) this.#judge(body)
    }
    if (this.#coming.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #forget(body: Body): void {
    this.#coming.delete(body)
    this.#bodies.delete(body.request.socket)
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
    this.#forget(body)
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
