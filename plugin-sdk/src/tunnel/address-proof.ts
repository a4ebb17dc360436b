import { createPublicKey, verify } from 'node:crypto'
import { base58 } from '@scure/base'

/**
 * Returns the bytes that a node signs to show that it answers at an address.
 *
 * @param nonce random, of the one who asks
 * @param host the Host of the request that asked, in lower case
 */
export function addressStatement(nonce: string, host: string): Uint8Array {
  return Buffer.from(`nodekeep-address/1\n${nonce}\n${host}`)
}

/** Whether the node with this id has signed the bytes. A malformed id or signature counts as no signature. */
export function isSignedBy(nodeId: string, bytes: Uint8Array, signature: Uint8Array): boolean {
  try {
    const x = Buffer.from(base58.decode(nodeId)).toString('base64url')
    const key = createPublicKey({ format: 'jwk', key: { kty: 'OKP', crv: 'Ed25519', x } })
    return verify(null, bytes, key, signature)
  } catch {
    return false
  }
}
