import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { publicError } from '../errors/public-error.ts'
import { answerDirectly } from '../http/direct-answer.ts'

/** The latest answer that one plugin gives on a connection: earlier ones end before it. */
interface Answer {
  readonly by: InFlight
  response: ServerResponse
  requestId: string
  /** That of another plugin on the same connection. */
  readonly next: Answer | undefined
}

const answers = Symbol('answers')

/** A connection, with the answers that are given on it where each request finds its own without a search. */
type Answering = Duplex & { [answers]?: Answer | undefined }

/** The answers that one plugin is giving, and the connections that it has taken over. */
export class InFlight {
  readonly #answers = new Set<Answer>()
  readonly #sockets = new Set<Duplex>()

  add(response: ServerResponse, requestId: string): void {
    const socket: Answering = response.req.socket
    let answer = socket[answers]
    while (answer !== undefined && answer.by !== this) answer = answer.next
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
    socket.once('close', () => this.#answers.delete(answer))
  }

  addSocket(socket: Duplex): void {
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
  }

  /** Waits until all is answered, but not longer than the limit; what is left then is ended, with an error. */
  async settle(ms: number): Promise<void> {
    const pending = [...this.#answers]
      .filter(({ response }) => !response.closed)
      .map(({ response, requestId }) => ({ response, requestId }))
    const ends = [...pending.map(({ response }) => response), ...this.#sockets].map(closed)
    if (ends.length === 0) return
    const limit = setTimeout(() => {
      for (const { response, requestId } of pending) cutShort(response, requestId)
      for (const socket of this.#sockets) socket.destroy()
    }, ms)
    await Promise.all(ends)
    clearTimeout(limit)
  }
}

function closed(stream: ServerResponse | Duplex): Promise<void> {
  return stream.closed ? Promise.resolve() : new Promise((resolve) => stream.once('close', resolve))
}

function cutShort(response: ServerResponse, requestId: string): void {
  if (response.closed) return
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
