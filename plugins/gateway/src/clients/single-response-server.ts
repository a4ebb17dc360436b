import type { RequestListener, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { createServer } from '../connections/node-http.ts'

/** Answers one request on each connection that it gets. The connection has a limited time in all. */
export class SingleResponseServer {
  readonly #server: Server
  readonly #ms: number

  /**
   * @param ms the time of a connection. A server of Node enforces its own time limits only if it listens.
   * @param answer ends the response
   */
  constructor(ms: number, answer: RequestListener) {
    this.#ms = ms
    this.#server = createServer((request, response) => {
      response.shouldKeepAlive = false
      answer(request, response)
    })
    this.#server.on('clientError', (_error, socket) => socket.destroy())
  }

  /** Serves a connection. */
  serve(socket: Duplex): void {
    const timer = setTimeout(() => socket.destroy(), this.#ms)
    socket.once('close', () => clearTimeout(timer))
    this.#server.emit('connection', socket)
  }
}
