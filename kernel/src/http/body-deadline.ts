import type { IncomingMessage } from 'node:http'

/** Whether a request announces a body. */
export function announcesBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

/**
 * Watches over a request whose body doesn't come. A buffered body has to be complete in time; a streamed one only
 * must not stall for that long. A stall that the reading side causes is not the client's and doesn't count.
 *
 * Node's own `requestTimeout` can't tell the two apart: it would cut every long upload.
 */
export function watchBody(
  request: IncomingMessage,
  ms: number,
  kind: 'buffered' | 'stream',
  onLate: () => void,
): void {
  let seen = request.socket.bytesRead
  const timer = setInterval(() => {
    const { bytesRead } = request.socket
    const unread = request.readableLength >= request.readableHighWaterMark
    if (kind === 'stream' && (bytesRead > seen || unread)) {
      seen = bytesRead
      return
    }
    clearInterval(timer)
    onLate()
  }, ms)
  const stop = () => clearInterval(timer)
  request.once('end', stop).once('close', stop)
}
