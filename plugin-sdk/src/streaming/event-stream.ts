import type { ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type ErrorBody, errorBodyOf, errorStatus, isNodekeepError } from '../errors.ts'

const headers = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  // Asks nginx and similar proxies not to buffer the answer.
  'x-accel-buffering': 'no',
} as const

/**
 * An answer of server-sent events (WHATWG HTML, section 9.2), written past Fastify. The headers are sent with the first
 * event or the first heartbeat. Until then, a route can throw and its error is answered as usual.
 *
 * @example
 * const stream = new EventStream(reply, 15_000)
 * try {
 *   for await (const piece of pieces) {
 *     if (!stream.send(JSON.stringify(piece))) await stream.drained(signal)
 *   }
 * } catch (error) {
 *   const failure = stream.failed(error, request, signal)
 *   if (failure === null) return reply
 *   stream.send(JSON.stringify(failure))
 * }
 * stream.end()
 */
export class EventStream {
  readonly #reply: FastifyReply
  readonly #response: ServerResponse
  readonly #heartbeat: NodeJS.Timeout
  #began = false

  /** @param heartbeatMs milliseconds between heartbeats: comments that keep proxies from closing an idle connection */
  constructor(reply: FastifyReply, heartbeatMs: number) {
    this.#reply = reply
    this.#response = reply.raw
    this.#heartbeat = setInterval(() => {
      // A client that has not read the earlier events does not need a comment.
      if (!this.#response.writableNeedDrain) this.#write(': ping\n\n')
    }, heartbeatMs)
  }

  /** Whether the headers were sent. The route can then no longer answer in another way. */
  get began(): boolean {
    return this.#began
  }

  /**
   * Sends an event. Returns `false` if the client reads too slowly: then wait for `drained`.
   *
   * @param data one line, such as JSON
   * @param fields one line each: `event` names the event, and a browser that connects again sends the last `id` in the header
   *   `last-event-id`
   */
  send(data: string, { id, event }: { readonly id?: string; readonly event?: string } = {}): boolean {
    const fields = `${event === undefined ? '' : `event: ${event}\n`}${id === undefined ? '' : `id: ${id}\n`}`
    return this.#write(`${fields}data: ${data}\n\n`)
  }

  /** Resolves when the client has read enough for the next event, or when the signal aborts. */
  async drained(signal: AbortSignal): Promise<void> {
    if (!this.#response.writableNeedDrain || signal.aborted) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const go = () => resolve()
    this.#response.once('drain', go)
    signal.addEventListener('abort', go)
    await promise
    this.#response.off('drain', go)
    signal.removeEventListener('abort', go)
  }

  /**
   * Takes the error of a route's work. Before the first event, the error is thrown again and answered as usual. After
   * it, the error is logged if the node caused it.
   *
   * @param signal the signal of the client
   * @returns the error for the last event, or `null` if the client has left
   * @throws the error, if no event was sent
   */
  failed(
    thrown: unknown,
    request: FastifyRequest,
    signal: AbortSignal,
  ): (ErrorBody & { readonly reason: string | null }) | null {
    if (!this.#began || signal.aborted) this.close()
    if (!this.#began) throw thrown
    if (signal.aborted) {
      request.log.debug('The client left before the reply ended.')
      return null
    }
    const body = errorBodyOf(thrown, request.id)
    const known = isNodekeepError(thrown) ? thrown : null
    if (errorStatus[body.code] >= 500 && known?.logged !== true) {
      request.log.error({ err: thrown, path: request.routeOptions.url }, body.message)
    }
    return { ...body, reason: known?.reason ?? null }
  }

  /** As `failed`, and then ends the answer with the event `failure`, whose data is the JSON of the error. */
  endWithFailure(thrown: unknown, request: FastifyRequest, signal: AbortSignal): void {
    const failure = this.failed(thrown, request, signal)
    if (failure === null) return
    const { error, message, code } = failure
    this.send(JSON.stringify({ error, message, code }), { event: 'failure' })
    this.end()
  }

  /** Ends the answer. */
  end(): void {
    this.close()
    this.#begin()
    this.#response.end()
  }

  /** Stops the heartbeat. Call it if the route ends in another way than with `end`, `failed` or `endWithFailure`. */
  close(): void {
    clearInterval(this.#heartbeat)
  }

  #write(text: string): boolean {
    this.#begin()
    // Node 26.10 counts a text in bytes when it fills the buffer, but in characters when it drains the buffer. After
    // characters of several bytes, 'drain' may never come. We therefore write bytes.
    return this.#response.write(Buffer.from(text))
  }

  #begin(): void {
    if (this.#began) return
    this.#began = true
    this.#reply.hijack()
    this.#response.writeHead(200, { ...(this.#reply.getHeaders() as object), ...headers })
  }
}
