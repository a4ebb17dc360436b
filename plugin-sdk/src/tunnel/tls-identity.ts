import { createPrivateKey } from 'node:crypto'
import { createSecureContext, type SecureContext, type TLSSocket } from 'node:tls'
import { base58 } from '@scure/base'
import type { NodeIdentity } from '../contracts/node-identity.ts'
import { tunnelProtocol } from './messages.ts'

/** Options of Node's `tls`, for both sides of a tunnel. */
export interface TunnelTls {
  /** A self-signed certificate of the node's key, as PEM. */
  readonly cert: string
  /** The private key, as PEM. */
  readonly key: string
  readonly minVersion: 'TLSv1.3'
  /** For clients. A server makes its own of the fields above. */
  readonly secureContext: SecureContext
  readonly ALPNProtocols: string[]
  readonly requestCert: true
  readonly rejectUnauthorized: false
  readonly allowHalfOpen: true
}

/**
 * Returns the options of TLS for both sides of a tunnel: TLS 1.3 (RFC 8446), in which both sides prove their keys. No authority
 * signs the certificates, so compare {@link nodeIdOf} with the node that you expect.
 *
 * @throws the errors of {@link NodeIdentity}
 */
export async function tunnelTls(identity: Pick<NodeIdentity, 'nodeId' | 'privateKey'>): Promise<TunnelTls> {
  // Its library takes memory, and most nodes need no certificate.
  const { identityCertificate } = await import('./identity-certificate.ts')
  const key = identity.privateKey()
  const cert = identityCertificate(createPrivateKey(key), identity.nodeId)
  const context = { cert, key, minVersion: 'TLSv1.3' } as const
  return {
    ...context,
    secureContext: createSecureContext(context),
    ALPNProtocols: [tunnelProtocol],
    requestCert: true,
    rejectUnauthorized: false,
    allowHalfOpen: true,
  }
}

/** Returns the id of the node whose key the other side has proven, once the handshake is complete; `null` if it has no such key. */
export function nodeIdOf(socket: TLSSocket): string | null {
  const key = socket.getPeerX509Certificate()?.publicKey
  if (key?.asymmetricKeyType !== 'ed25519') return null
  return base58.encode(Buffer.from(key.export({ format: 'jwk' }).x ?? '', 'base64url'))
}
