import { TLSSocket } from 'node:tls'
import type { ClientConnection, OverlayConnection } from '@nodekeep/plugin-sdk'
import { challengeProtocol, unrecognizedName, withoutCertificate } from '@nodekeep/plugin-sdk/server-tls'
import type { CertificateSource } from './certificate-source.ts'

/**
 * Does the server's part of a TLS handshake, and owns the connection meanwhile.
 *
 * @param handshakeMs the time until the connection is cut
 * @returns the connection within, or `null` if the client is not served: it named a server without a certificate, it was a
 * certificate authority with its challenge, the handshake failed or took too long, or the signal was aborted
 */
export function endTls(
  { socket: raw, remoteAddress, remotePort }: OverlayConnection,
  certificates: Pick<CertificateSource, 'find' | 'findChallenge'>,
  handshakeMs: number,
  signal: AbortSignal,
): Promise<ClientConnection | null> {
  return new Promise((resolve) => {
    let isChallenge = false
    const socket = new TLSSocket(raw, {
      isServer: true,
      secureContext: certificates.find(null) ?? withoutCertificate,
      // TLS 1.3, which every certificate authority speaks, calls this before `SNICallback`.
      ALPNCallback({ protocols }) {
        isChallenge = protocols.includes(challengeProtocol)
        return [challengeProtocol, 'http/1.1'].find((protocol) => protocols.includes(protocol))
      },
      SNICallback(serverName, proceed) {
        const name = serverName.toLowerCase()
        const context = isChallenge ? certificates.findChallenge(name) : certificates.find(name)
        if (context !== undefined) proceed(null, context)
        else raw.end(unrecognizedName, () => socket.destroy())
      },
    })
    const cut = () => socket.destroy()
    const timer = setTimeout(cut, handshakeMs)
    const finish = (client: ClientConnection | null) => {
      clearTimeout(timer)
      signal.removeEventListener('abort', cut)
      socket.off('end', cut)
      resolve(client)
    }
    signal.addEventListener('abort', cut)
    socket.on('error', () => {})
    socket.once('close', () => finish(null))
    // The connections of a tunnel end each direction by itself, so the end of the client does not close them.
    socket.once('end', cut)
    socket.once('secure', () => {
      // The authority has seen the certificate by now, which was all (RFC 8737, section 3).
      if (isChallenge) socket.end()
      else finish({ socket, remoteAddress, remotePort, encrypted: true, serverName: nameOf(socket) })
    })
    if (signal.aborted || raw.destroyed) cut()
  })
}

/** `false` stands for a client that named no server, also in the types of Node. */
function nameOf(socket: TLSSocket): string | null {
  const { servername } = socket as { servername?: string | false | null }
  return servername ? servername.toLowerCase() : null
}
