import type { Duplex } from 'node:stream'
import type { FastifyRequest } from 'fastify'

const signals = new WeakMap<Duplex, AbortSignal>()

/**
 * A signal that is aborted when the client's connection ends: one for all calls of a connection, those included that were
 * sent ahead of the answers to earlier ones. It costs a warm call nothing.
 */
export function connectionSignal({ raw: { socket } }: FastifyRequest): AbortSignal {
  const known = signals.get(socket)
  if (known !== undefined) return known
  const gone = new AbortController()
  const abort = () => gone.abort(new Error('The client left.'))
  if (socket.destroyed) abort()
  else socket.once('close', abort)
  signals.set(socket, gone.signal)
  return gone.signal
}
