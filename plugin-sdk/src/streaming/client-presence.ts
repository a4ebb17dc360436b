import type { FastifyReply, FastifyRequest } from 'fastify'
import { NodekeepError } from '../errors.ts'

/**
 * Watches whether the client of one request still waits, for routes that do something long for it. Node says nothing of
 * its own accord while an answer is being prepared.
 */
export class ClientPresence {
  readonly #socket: FastifyRequest['raw']['socket']
  readonly #response: FastifyReply['raw'] | undefined
  readonly #abort = new AbortController()

  /**
   * @param reply where it is given, the client also counts as gone when somebody else has answered it: the node does that
   * when an error is thrown where nobody can catch it
   */
  constructor({ raw }: Pick<FastifyRequest, 'raw'>, reply?: Pick<FastifyReply, 'raw'>) {
    this.#socket = raw.socket
    this.#response = reply?.raw
    this.#socket.once('close', this.#leave)
    // Node closes its side too when the client has closed the other one, but not before all is sent.
    this.#socket.once('end', this.#leave)
    this.#response?.once('close', this.#leave)
    if (this.#socket.destroyed) this.#leave()
  }

  /** Aborted when the client has left, with an error that a route may throw: the log takes no harm from it. */
  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** Stops watching: the connection may serve further requests. */
  release(): void {
    this.#socket.off('close', this.#leave)
    this.#socket.off('end', this.#leave)
    this.#response?.off('close', this.#leave)
  }

  readonly #leave = (): void => this.#abort.abort(clientLeft())
}

/** Whoever has closed their side of the connection may still read it. */
function clientLeft(): NodekeepError {
  return new NodekeepError('REQUEST_TIMEOUT', 'The client left before it was answered.')
}
