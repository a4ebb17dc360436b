import type { IncomingMessage } from 'node:http'
import { announcesBody } from './body-deadline.ts'
import { closeLingering } from './closing.ts'

/** Bytes of a body that nobody wants which are still taken, so that the connection can be used again. */
const smallBody = 64 * 1024

/** Whether more of a body is still to come than is worth waiting for. */
export function leavesMuch(request: IncomingMessage): boolean {
  if (request.complete || !announcesBody(request)) return false
  return !(Number(request.headers['content-length']) <= smallBody)
}

/**
 * Ends a connection on which more of an answered request is on its way than is worth reading, and gives a small
 * rest so long to arrive.
 */
export function giveUpBody(request: IncomingMessage, ms: number): void {
  const { socket } = request
  if (leavesMuch(request)) {
    closeLingering(socket)
    return
  }
  const timer = setTimeout(() => {
    if (!request.complete) socket.destroy()
  }, ms)
  const stop = () => {
    clearTimeout(timer)
    socket.off('close', stop)
  }
  request.once('end', stop)
  socket.once('close', stop)
}
