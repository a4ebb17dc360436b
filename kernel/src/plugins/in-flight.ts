import type { Duplex } from 'node:stream'
import { withTimeLimit } from '@nodekeep/plugin-sdk'
import type { FastifyReply } from 'fastify'
import { publicError } from '../errors/public-error.ts'
import { sendErrorRaw } from '../http/write-error.ts'

/** The answers that one plugin is giving, and the connections that it has taken over. */
export class InFlight {
  readonly #replies = new Set<FastifyReply>()
  readonly #sockets = new Set<Duplex>()

  add(reply: FastifyReply): void {
    this.#replies.add(reply)
    reply.raw.once('close', () => this.#replies.delete(reply))
  }

  addSocket(socket: Duplex): void {
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
  }

  /** Waits until everything is answered, but at most `ms` milliseconds. Then it ends the rest with an error. */
  async drain(ms: number): Promise<void> {
    const open = [...[...this.#replies].map(({ raw }) => raw), ...this.#sockets]
    if (open.length === 0) return
    const closed = Promise.all(
      open.map((stream) => new Promise<void>((resolve) => void stream.once('close', resolve))),
    )
    await withTimeLimit(closed, ms, 'Some requests are not answered yet.').catch(() => {
      for (const reply of this.#replies) sendErrorRaw(reply, stopped)
      for (const socket of this.#sockets) socket.destroy()
    })
  }
}

/** The error for requests to a plugin that was stopped. */
export const stopped = publicError(
  'SERVICE_UNAVAILABLE',
  'The plugin that answers this was stopped. Try again later.',
  { 'retry-after': '5', connection: 'close' },
)
