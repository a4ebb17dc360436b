import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'

/**
 * Joins two connections until both have ended: bytes, backpressure and the end of each direction pass from one to the other. When
 * one of them is cut, so is the other, and a client without TLS of its own sees a reset: a body that is cut short must not look
 * like a whole one.
 *
 * @param idleMs the time without any byte after which both are cut
 */
export function relay(client: Socket, node: Socket, idleMs: number): void {
  client.setTimeout(idleMs, () => cut(client))
  node.setTimeout(idleMs, () => cut(node))
  follow(client, node)
  follow(node, client)
}

function follow(source: Socket, sink: Socket): void {
  source.pipe(sink)
  // A failure also closes the connection.
  source.on('error', () => {})
  const close = () => {
    const isWhole = source.errored === null && source.readableEnded && source.writableFinished
    if (!isWhole) cut(sink)
  }
  source.once('close', close)
  if (source.destroyed) close()
}

/** Closes a connection in such a way that the other side does not take it for a regular end, where the protocol can tell. */
export function cut(socket: Socket): void {
  if (socket instanceof TLSSocket) socket.destroy()
  else socket.resetAndDestroy()
}
