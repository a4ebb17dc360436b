import { connect, type Socket } from 'node:net'

/** The address on the internet of a node that needs no tunnel. */
export interface OwnAddress {
  /** An IP address. */
  readonly address: string
  readonly port: number
}

/** Opens a TCP connection. */
export function dial({ address, port }: OwnAddress): Socket {
  const socket = connect({ host: address, port, allowHalfOpen: true, noDelay: true })
  // A failure also closes the connection.
  socket.on('error', () => {})
  return socket
}
