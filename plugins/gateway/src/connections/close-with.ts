import type { Duplex } from 'node:stream'

/** Milliseconds for the other side to read the last bytes and to close. */
const lingerMs = 1000

/** Sends the last bytes and closes the connection. What the other side still sends is ignored. */
export function closeWith(socket: Duplex, last: string | Uint8Array): void {
  const timer = setTimeout(() => socket.destroy(), lingerMs)
  socket.once('close', () => clearTimeout(timer))
  socket.once('end', () => socket.destroy())
  socket.resume()
  socket.end(last)
}
