import type { ClientConnection, ClientConnections, Log, OverlayConnection } from '@nodekeep/plugin-sdk'

/** TLS on the node. */
interface TlsEnd {
  /** Whether the node ends TLS itself. */
  readonly endsTls: boolean
  /** Sets the names by which clients reach the node now. */
  names(list: readonly string[]): void
  /** Does the handshake. It resolves with the connection within, or with `null` if there is nothing to serve. */
  accept(connection: OverlayConnection): Promise<ClientConnection | null>
}

/** The end of TLS of a node without certificates. */
export const noCertificates: TlsEnd = {
  endsTls: false,
  names() {},
  async accept({ socket }) {
    socket.destroy()
    return null
  },
}

/** Returns the function that serves a client which came through the network. */
export function serveClient(
  connections: ClientConnections,
  certificates: TlsEnd,
  log: Log,
): (connection: OverlayConnection) => void {
  return ({ protocol, ...client }) => {
    client.socket.on('error', (err) => log.debug({ err }, 'The connection of a client failed.'))
    if (protocol === 'http') connections.serve(client)
    else void acceptTls({ protocol, ...client })
  }

  async function acceptTls(connection: OverlayConnection): Promise<void> {
    const client = await certificates.accept(connection)
    if (client !== null) connections.serve(client)
  }
}
