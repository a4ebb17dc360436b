import type { Duplex } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { toPublicError } from '../errors/public-error.ts'
import { loggedPathOf } from '../http/request-path.ts'
import { cutWebSocket } from '../http/web-sockets.ts'
import { sendErrorRaw } from '../http/write-error.ts'
import type { FaultKind, FaultOwner } from './fault-context.ts'

/**
 * The fault owner while a plugin answers one request. The plugin is blamed, and an exception also ends the request:
 * it broke off the code that would have answered, so the client would wait forever.
 */
export class RequestFaultOwner implements FaultOwner {
  readonly #plugin: FaultOwner
  readonly #request: FastifyRequest
  readonly #reply: FastifyReply

  constructor(plugin: FaultOwner, request: FastifyRequest, reply: FastifyReply) {
    this.#plugin = plugin
    this.#request = request
    this.#reply = reply
  }

  get id(): string {
    return this.#plugin.id
  }

  get work() {
    const { id, method } = this.#request
    return { reqId: id, method, path: loggedPathOf(this.#request) }
  }

  faulted(thrown: unknown, kind: FaultKind): void {
    this.#plugin.faulted(thrown, kind)
    const { id, log } = this.#request
    const { raw } = this.#reply
    if (kind !== 'exception' || raw.writableEnded || raw.destroyed) return
    const error = toPublicError(undefined, id)
    log.error({ err: thrown, path: loggedPathOf(this.#request) }, error.message)
    if (!cutWebSocket(this.#request.raw)) sendErrorRaw(this.#reply, error)
  }
}

/**
 * Returns the fault owner of a connection that a plugin has taken over. An uncaught exception closes the connection.
 */
export function connectionFaultOwner(plugin: FaultOwner, socket: Duplex): FaultOwner {
  return {
    id: plugin.id,
    faulted(thrown, kind) {
      plugin.faulted(thrown, kind)
      if (kind === 'exception') socket.destroy()
    },
  }
}
