import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { NodekeepError } from '@nodekeep/plugin-sdk'
import type { PublicError } from '../errors/public-error.ts'
import { failBody } from './body-deadline.ts'
import { closeLingering, ignoreInput } from './closing.ts'

/** What is known of a connection. It is kept with the socket, where each request finds it without a search. */
interface Connection {
  /** The answer to the latest request. */
  latest: ServerResponse | null
  /** The answer that the socket's timeout was set for. */
  timed: ServerResponse | null
}

const known = Symbol('connection')

type Tracked = Duplex & { [known]?: Connection; setTimeout?: (ms: number) => void }

/** The open connections, and the latest request of each. Earlier ones are answered before it. */
export class Connections {
  readonly #open = new Set<Tracked>()
  readonly #broken = new WeakSet<Duplex>()

  /** @param socket a TCP connection, or any other that speaks HTTP */
  add(socket: Tracked & { destroySoon?: () => void }): void {
    const connection: Connection = { latest: null, timed: null }
    socket[known] = connection
    this.#open.add(socket)
    // Each plugin that answers on the connection listens to its end.
    socket.setMaxListeners(0)
    socket.once('close', () => this.#open.delete(socket))
    // Node listens for errors itself, but not once a connection was upgraded or its request was refused.
    socket.on('error', () => socket.destroy())
    const destroySoon = socket.destroySoon?.bind(socket) ?? (() => socket.end())
    // What Node calls after an answer with "connection: close".
    socket.destroySoon = () => {
      if (connection.latest?.req.complete === false) closeLingering(socket)
      else destroySoon()
    }
  }

  began(response: ServerResponse): void {
    const connection = (response.req.socket as Tracked)[known]
    if (connection !== undefined) connection.latest = response
  }

  /** Goes on when all requests that came on the connection are answered, so that no answer overtakes another. */
  whenAnswered(socket: Duplex, next: () => void): void {
    const latest = this.#latest(socket)
    if (latest === null || latest.closed) next()
    else latest.once('close', next)
  }

  /**
   * Deals with bytes that are no HTTP. Requests that came before them on the connection are still answered.
   *
   * @param answer writes the error on the connection and ends it
   */
  failed(socket: Duplex, error: PublicError, answer: () => void): void {
    if (this.#broken.has(socket)) return
    this.#broken.add(socket)
    const latest = this.#latest(socket)
    if (latest === null || (latest.writableFinished && latest.req.complete)) {
      answer()
      return
    }
    ignoreInput(socket)
    if (latest.writableFinished) closeLingering(socket)
    else if (latest.req.complete) latest.once('close', answer)
    else
      failBody(latest.req, new NodekeepError(error.code, error.message, { headers: { connection: 'close' } }))
  }

  destroyAll(): void {
    for (const socket of this.#open) socket.destroy()
  }

  /**
   * Sets the timeout of connections whose latest request is not answered yet: those on which nothing moves for so long
   * are closed. Called now and then, this costs the many requests nothing that are answered in between.
   */
  limitStalls(ms: number): void {
    for (const socket of this.#open) {
      const connection = socket[known]
      if (connection === undefined) continue
      const { latest, timed } = connection
      if (latest === null || latest === timed || latest.writableFinished) continue
      connection.timed = latest
      socket.setTimeout?.(ms)
    }
  }

  #latest(socket: Tracked): ServerResponse | null {
    return socket[known]?.latest ?? null
  }
}
