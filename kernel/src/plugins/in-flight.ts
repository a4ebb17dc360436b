import type { ServerResponse } from 'node:http'
import { Duplex } from 'node:stream'
import { publicError } from '../errors/public-error.ts'
import { answerDirectly } from '../http/direct-answer.ts'

/** What one plugin is answering on a connection. */
interface Place {
  readonly by: InFlight
  response: ServerResponse
  requestId: string
  /** The answers, with their request ids, to what was sent before that one was over. */
  readonly pipelined: Map<ServerResponse, string>
  /** That of another plugin. */
  readonly next: Place | undefined
}

const places = Symbol('places')

/** A connection, with the places of its plugins where each request finds its own without a search. */
type Answering = Duplex & { [places]?: Place | undefined }

/** The answers that one plugin is giving, and the connections that it has taken over. */
export class InFlight {
  readonly #places = new Set<Place>()
  readonly #sockets = new Set<Duplex>()

  add(response: ServerResponse, requestId: string): void {
    const socket: Answering = response.req.socket
    let place = socket[places]
    while (place !== undefined && place.by !== this) place = place.next
    if (place === undefined) {
      this.#begin(socket, { by: this, response, requestId, pipelined: new Map(), next: socket[places] })
    } else if (isOver(place.response)) {
      place.response = response
      place.requestId = requestId
    } else {
      const { pipelined } = place
      pipelined.set(response, requestId)
      response.once('close', () => pipelined.delete(response))
    }
  }

  #begin(socket: Answering, place: Place): void {
    socket[places] = place
    this.#places.add(place)
    // What Fastify's `inject` asks for has no connection that could close.
    const lasting = socket instanceof Duplex ? socket : place.response
    lasting.once('close', () => this.#places.delete(place))
  }

  addSocket(socket: Duplex): void {
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
  }

  /** Waits until all is answered, but not longer than the limit; what is left then is ended, with an error. */
  async settle(ms: number): Promise<void> {
    const pending = [...this.#places]
      .flatMap(({ response, requestId, pipelined }) => [[response, requestId] as const, ...pipelined])
      .filter(([response]) => !isOver(response))
    const ends = [...pending.map(([response]) => response), ...this.#sockets].map(ended)
    if (ends.length === 0) return
    // What waits behind an answer of somebody else doesn't end here.
    const late = Promise.withResolvers<void>()
    const limit = setTimeout(() => {
      for (const [response, requestId] of pending) cutShort(response, requestId)
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
