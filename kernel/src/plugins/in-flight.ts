import type { ServerResponse } from 'node:http'
import { Duplex } from 'node:stream'
import { publicError } from '../errors/public-error.ts'
import { answerDirectly } from '../http/direct-answer.ts'

/** An answer that a plugin is giving on a connection. Once it is over, its place is for the next one. */
interface Answer {
  readonly by: InFlight
  response: ServerResponse
  requestId: string
  /** Another one on the same connection: of another plugin, or of a request that was sent before this was answered. */
  readonly next: Answer | undefined
}

const answers = Symbol('answers')

/** A connection, with the answers that are given on it where each request finds its place without a search. */
type Answering = Duplex & { [answers]?: Answer | undefined }

/** The answers that one plugin is giving, and the connections that it has taken over. */
export class InFlight {
  readonly #answers = new Set<Answer>()
  readonly #sockets = new Set<Duplex>()

  add(response: ServerResponse, requestId: string): void {
    const socket: Answering = response.req.socket
    let answer = socket[answers]
    while (answer !== undefined && !(answer.by === this && isOver(answer.response))) answer = answer.next
    if (answer === undefined) {
      this.#begin(socket, { by: this, response, requestId, next: socket[answers] })
    } else {
      answer.response = response
      answer.requestId = requestId
    }
  }

  #begin(socket: Answering, answer: Answer): void {
    socket[answers] = answer
    this.#answers.add(answer)
    // What Fastify's `inject` asks for has no connection that could close.
    const lasting = socket instanceof Duplex ? socket : answer.response
    lasting.once('close', () => this.#answers.delete(answer))
  }

  addSocket(socket: Duplex): void {
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
  }

  /** Waits until all is answered, but not longer than the limit; what is left then is ended, with an error. */
  async settle(ms: number): Promise<void> {
    const pending = [...this.#answers]
      .filter(({ response }) => !isOver(response))
      .map(({ response, requestId }) => ({ response, requestId }))
    const ends = [...pending.map(({ response }) => response), ...this.#sockets].map(ended)
    if (ends.length === 0) return
    // What waits behind an answer of somebody else doesn't end here.
    const late = Promise.withResolvers<void>()
    const limit = setTimeout(() => {
      for (const { response, requestId } of pending) cutShort(response, requestId)
      for (const socket of this.#sockets) socket.destroy()
      late.resolve()
    }, ms)
    await Promise.race([Promise.all(ends), late.promise])
    clearTimeout(limit)
  }
}

function isOver(response: ServerResponse): boolean {
  return response.closed || response.writableFinished
}

function ended(stream: ServerResponse | Duplex): Promise<void> {
  return new Promise((resolve) => {
    if (stream.closed) resolve()
    stream.once('close', resolve)
  })
}

function cutShort(response: ServerResponse, requestId: string): void {
  if (response.closed || response.writableEnded) return
  if (response.headersSent) {
    response.destroy()
    return
  }
  const error = publicError(
    'SERVICE_UNAVAILABLE',
    'The plugin that was answering was stopped. Try again later.',
    {
      'retry-after': '5',
      connection: 'close',
    },
  )
  answerDirectly(response, error, requestId)
}
