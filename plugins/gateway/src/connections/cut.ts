import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'

/**
 * Closes a connection in such a way that the other side does not take a body that is cut short for a whole one: without TLS, by a
 * reset.
 *
 * A connection whose end is just being sent has all of its bytes, and is closed in the usual way. The system refuses to reset it, and
 * Node 26 then neither closes the socket nor ends the process.
 */
export function cut(socket: Socket): void {
  const { writableEnded, writableFinished, writableLength } = socket
  const endIsBeingSent = writableEnded && !writableFinished && writableLength === 0
  if (socket instanceof TLSSocket || endIsBeingSent) socket.destroy()
  else socket.resetAndDestroy()
}
