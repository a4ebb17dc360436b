import type { Duplex } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { toPublicError } from '../errors/public-error.ts'
import { answerInstead } from '../http/direct-answer.ts'
import { pathOf } from '../http/send-error.ts'
import { cutWebSocket } from '../http/web-sockets.ts'
import type { Accountable, FaultKind } from './attribution.ts'

/**
 * The account of a plugin while it answers one request. An exception that breaks the answering off, where nobody
 * could catch it, ends the request too: otherwise its client would wait for ever.
 */
export class RequestAccount implements Accountable {
  readonly #plugin: Accountable
  readonly #request: FastifyRequest
  readonly #reply: FastifyReply

  constructor(plugin: Accountable, request: FastifyRequest, reply: FastifyReply) {
    this.#plugin = plugin
    this.#request = request
    this.#reply = reply
  }

  get id(): string {
    return this.#plugin.id
  }

  faulted(thrown: unknown, kind: FaultKind): void {
    this.#plugin.faulted(thrown, kind)
    const { id, log } = this.#request
    const { raw } = this.#reply
    if (kind === 'rejection' || raw.writableEnded || raw.destroyed) return
    const error = toPublicError(undefined, id)
    log.error({ err: thrown, path: pathOf(this.#request) }, error.message)
    if (!cutWebSocket(this.#request.raw)) answerInstead(this.#reply, error)
  }
}

/** The same for a connection that the plugin has taken over: an exception that nobody caught cuts it. */
export function connectionAccount(plugin: Accountable, socket: Duplex): Accountable {
  return {
    id: plugin.id,
    faulted(thrown, kind) {
      plugin.faulted(thrown, kind)
      if (kind === 'exception') socket.destroy()
    },
  }
}
