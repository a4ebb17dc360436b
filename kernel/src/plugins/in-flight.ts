import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { publicError } from '../errors/public-error.ts'
import { answerDirectly } from '../http/direct-answer.ts'

interface Answer {
  response: ServerResponse
  requestId: string
}

/** The answers that one plugin is giving, and the connections that it has taken over. */
export class InFlight {
  /** The latest answer on each connection: earlier ones end before it. */
  readonly #answers = new Map<Duplex, Answer>()
  readonly #sockets = new Set<Duplex>()

  add(response: ServerResponse, requestId: string): void {
    const { socket } = response.req
    const answer = this.#answers.get(socket)
    if (answer === undefined) {
      this.#answers.set(socket, { response, requestId })
      socket.once('close', () => this.#answers.delete(socket))
    } else {
      answer.response = response
      answer.requestId = requestId
    }
  }

  addSocket(socket: Duplex): void {
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
  }

  /** Waits until all is answered, but not longer than the limit; what is left then is ended, with an error. */
  async settle(ms: number): Promise<void> {
    const pending = [...this.#answers.values()]
      .filter(({ response }) => !response.closed)
      .map((answer) => ({ ...answer }))
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
