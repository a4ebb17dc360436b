import type { ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'

const headers = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  // Asks nginx and its kin not to hold the answer back.
  'x-accel-buffering': 'no',
} as const

/**
 * An answer of server-sent events (WHATWG HTML, section 9.2), past Fastify. The head goes out with the first event,
 * or with the first heartbeat if that is earlier; until then a route can still throw and be answered as any other.
 *
 * @example
 * const stream = new EventStream(reply, 15_000)
 * for await (const piece of pieces) {
 *   if (!stream.send(JSON.stringify(piece))) await stream.drained(signal)
 * }
 * stream.end()
 */
export class EventStream {
  readonly #reply: FastifyReply
  readonly #response: ServerResponse
  readonly #heartbeat: NodeJS.Timeout
  #began = false

  /** @param heartbeatMs how often to send a comment, so that nobody on the way takes the answer for dead */
  constructor(reply: FastifyReply, heartbeatMs: number) {
    this.#reply = reply
    this.#response = reply.raw
    this.#heartbeat = setInterval(() => {
      // Who does not take what is there already has no use for more.
      if (!this.#response.writableNeedDrain) this.#write(': ping\n\n')
    }, heartbeatMs)
  }

  /** Whether something was sent, so that the route cannot be answered in another way any more. */
  get began(): boolean {
    return this.#began
  }

  /**
   * Sends an event without a name. `false` when the client has not taken what was sent: wait for `drained` then.
   *
   * @param data one line, such as JSON
   */
  send(data: string): boolean {
    return this.#write(`data: ${data}\n\n`)
  }

  /** Resolves when there is room for more, or the signal is aborted. */
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

  /** Ends the answer in good order. */
  end(): void {
    clearInterval(this.#heartbeat)
    this.#begin()
    this.#response.end()
  }

  /** Sends nothing any more. Call it when the route throws instead, or the client has left. */
  close(): void {
    clearInterval(this.#heartbeat)
  }

  #write(text: string): boolean {
    this.#begin()
    // As bytes. Node 26.10 measures a text in bytes where it says that the client is slow, and in characters where it
    // says that there is room again: after characters of several bytes it may never say so.
    return this.#response.write(Buffer.from(text))
  }

  #begin(): void {
    if (this.#began) return
    this.#began = true
    this.#reply.hijack()
    this.#response.writeHead(200, { ...(this.#reply.getHeaders() as object), ...headers })
  }
}
