import { once } from 'node:events'
import { isIP, type Socket } from 'node:net'
import { connect, type TLSSocket } from 'node:tls'

/**
 * Starts TLS on a connection to a node, as a client does. The certificate is not checked: it may be of an authority that only the people
 * of the node know, or for another name, and the node proves itself by its signature.
 *
 * @param hostname the host of a URL; an IPv6 address stands in brackets
 * @throws the reason of the signal when it is aborted before the handshake is complete; errors of TLS
 */
export async function startTls(socket: Socket, hostname: string, signal: AbortSignal): Promise<TLSSocket> {
  const servername = isIP(hostname.replace(/^\[|\]$/g, '')) === 0 ? hostname : ''
  const inner = connect({ socket, servername, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] })
  inner.on('error', () => {})
  await once(inner, 'secureConnect', { signal })
  return inner
}
