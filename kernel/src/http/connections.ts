import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { NodekeepError } from '@nodekeep/plugin-sdk'
import type { PublicError } from '../errors/public-error.ts'
import { failBody } from './body-deadline.ts'
import { closeLingering, ignoreInput } from './closing.ts'

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** The open connections, and the latest request of each. Earlier ones are answered before it. */
export class Connections {
  readonly #open = new Set<Duplex>()
  readonly #latest = new WeakMap<Duplex, Exchange>()
  readonly #broken = new WeakSet<Duplex>()

  /** @param socket a TCP connection, or any other that speaks HTTP */
  add(socket: Duplex & { destroySoon?: () => void }): void {
    this.#open.add(socket)
    // Each plugin that answers on the connection listens to its end.
    socket.setMaxListeners(0)
    socket.once('close', () => this.#open.delete(socket))
    // Node listens for errors itself, but not once a connection was upgraded or its request was refused.
    socket.on('error', () => socket.destroy())
    const destroySoon = socket.destroySoon?.bind(socket) ?? (() => socket.end())
    // What Node calls after an answer with "connection: close".
    socket.destroySoon = () => {
      if (this.#latest.get(socket)?.request.complete === false) closeLingering(socket)
      else destroySoon()
    }
  }

  began(request: IncomingMessage, response: ServerResponse): void {
    this.#latest.set(request.socket, { request, response })
  }

  /** Goes on when all requests that came on the connection are answered, so that no answer overtakes another. */
  whenAnswered(socket: Duplex, next: () => void): void {
    const latest = this.#latest.get(socket)
    if (latest === undefined || latest.response.closed) next()
    else latest.response.once('close', next)
  }

  /**
   * Deals with bytes that are no HTTP. Requests that came before them on the connection are still answered.
   *
   * @param answer writes the error on the connection and ends it
   */
  failed(socket: Duplex, error: PublicError, answer: () => void): void {
    if (this.#broken.has(socket)) return
    this.#broken.add(socket)
    const latest = this.#latest.get(socket)
    if (latest === undefined || (latest.response.writableFinished && latest.request.complete)) {
      answer()
      return
    }
    ignoreInput(socket)
    const { request, response } = latest
    if (response.writableFinished) closeLingering(socket)
    else if (request.complete) response.once('close', answer)
    else failBody(request, new NodekeepError(error.code, error.message, { headers: { connection: 'close' } }))
  }

  destroyAll(): void {
    for (const socket of this.#open) socket.destroy()
  }
}
