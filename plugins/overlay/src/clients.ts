import type { ClientConnections, Log, OverlayConnection } from '@nodekeep/plugin-sdk'
import type { Certificates } from './certificates/certificates.ts'

/** Returns the function that serves a client which came through the network. */
export function serveClient(
  connections: ClientConnections,
  certificates: Pick<Certificates, 'accept'>,
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
