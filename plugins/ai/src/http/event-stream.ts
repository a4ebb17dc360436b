import type { ServerResponse } from 'node:http'
import type { ErrorBody } from '@nodekeep/plugin-sdk'
import type { FastifyReply } from 'fastify'

const headers = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  // Asks nginx and its kin not to hold the answer back.
  'x-accel-buffering': 'no',
} as const

/**
 * A streamed answer (interface, "AI endpoints"), past Fastify: each event is a `data` line with JSON, the last line
 * says `[DONE]`. The head goes out with the first event, or with the first sign of life if that is earlier.
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

  /** Whether something was sent, so that errors can't be answered in another way any more. */
  get began(): boolean {
    return this.#began
  }

  /** Sends a piece of text. `false` when the client has not taken what was sent: wait for `drained` then. */
  send(chunk: string): boolean {
    return this.#write(`data: {"chunk":${JSON.stringify(chunk)}}\n\n`)
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
    this.#response.end('data: [DONE]\n\n')
  }

  /** Ends the answer with an error. */
  fail({ message, code }: Pick<ErrorBody, 'message' | 'code'>): void {
    this.#write(`data: ${JSON.stringify({ chunk: '', error: true, message, code })}\n\n`)
    this.end()
  }

  /** Sends nothing any more. */
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
