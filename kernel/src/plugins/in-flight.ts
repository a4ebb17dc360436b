import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { publicError } from '../errors/public-error.ts'
import { answerDirectly } from '../http/direct-answer.ts'

interface Answer {
  readonly response: ServerResponse
  readonly requestId: string
}

/** The answers that one plugin is giving, and the connections that it has taken over. */
export class InFlight {
  readonly #answers = new Set<Answer>()
  readonly #sockets = new Set<Duplex>()
  #onIdle: (() => void) | null = null

  add(response: ServerResponse, requestId: string): void {
    const answer = { response, requestId }
    this.#answers.add(answer)
    response.once('close', () => this.#remove(this.#answers, answer))
  }

  addSocket(socket: Duplex): void {
    this.#sockets.add(socket)
    socket.once('close', () => this.#remove(this.#sockets, socket))
  }

  /** Waits until all is answered, but not longer than the limit; what is left then is ended, with an error. */
  async settle(ms: number): Promise<void> {
    if (this.#isIdle) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#onIdle = resolve
    const limit = setTimeout(() => this.#end(), ms)
    await promise
    clearTimeout(limit)
  }

  get #isIdle(): boolean {
    return this.#answers.size === 0 && this.#sockets.size === 0
  }

  #end(): void {
    for (const { response, requestId } of this.#answers) cutShort(response, requestId)
    for (const socket of this.#sockets) socket.destroy()
    this.#onIdle?.()
  }

  #remove<T>(all: Set<T>, one: T): void {
    all.delete(one)
    if (this.#isIdle) this.#onIdle?.()
  }
}

function cutShort(response: ServerResponse, requestId: string): void {
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
