import type { Duplex } from 'node:stream'

/** Milliseconds that a closed connection stays open for its client to read the answer. */
const lingerMs = 2000

/** Bytes that are still read and discarded after the answer, to notice that the client has finished. */
const lingerBytes = 256 * 1024

const lingering = new WeakSet<Duplex>()

/**
 * Ends a connection whose client may still be sending. Closing at once would make the system answer the rest with a
 * reset, which throws the answer away on its way (RFC 9112, section 9.6). So the sending side is closed, the rest
 * of the input is read within bounds and ignored, and then the connection is destroyed.
 */
export function closeLingering(socket: Duplex): void {
  if (lingering.has(socket) || socket.destroyed) return
  lingering.add(socket)
  const timer = setTimeout(() => socket.destroy(), lingerMs)
  socket.once('close', () => clearTimeout(timer))
  socket.once('end', () => socket.destroy())
  ignoreInput(socket)
  socket.end()
}

/** Discards further input, so that it no longer reaches the HTTP parser. */
export function ignoreInput(socket: Duplex): void {
  let left = lingerBytes
  socket.removeAllListeners('data')
  socket.on('data', (chunk: Buffer) => {
    left -= chunk.length
    if (left <= 0) socket.pause()
  })
  socket.resume()
}
