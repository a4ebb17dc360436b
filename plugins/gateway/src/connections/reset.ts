import type { Socket } from 'node:net'

/**
 * Closes a TCP connection by a reset, so that the other side does not take a body that is cut short for a whole one.
 *
 * A connection whose end is just being sent has all of its bytes, and is closed in the usual way. The system refuses to reset it, and
 * Node 26 then neither closes the socket nor ends the process.
 */
export function reset(socket: Socket): void {
  const { writableEnded, writableFinished, writableLength } = socket
  const endIsBeingSent = writableEnded && !writableFinished && writableLength === 0
  if (endIsBeingSent) socket.destroy()
  else socket.resetAndDestroy()
}
