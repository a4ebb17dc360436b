import type { FastifyRequest } from 'fastify'

/** Watches whether the client of one request is still there. */
export class Presence {
  readonly #socket: FastifyRequest['raw']['socket']
  readonly #abort = new AbortController()

  constructor({ raw }: FastifyRequest) {
    this.#socket = raw.socket
    this.#socket.once('close', this.#leave)
    // Node closes its side too when the client has closed the other one, but not before all is sent.
    this.#socket.once('end', this.#leave)
    if (this.#socket.destroyed) this.#leave()
  }

  /** Aborted when the client has left. */
  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** Stops watching: the connection may serve further requests. */
  release(): void {
    this.#socket.off('close', this.#leave)
    this.#socket.off('end', this.#leave)
  }

  readonly #leave = (): void => this.#abort.abort(new Error('The client left.'))
}
