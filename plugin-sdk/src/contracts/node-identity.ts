import { defineService } from '../service.ts'

/**
 * The identity of the node, the same in every network: an Ed25519 key (RFC 8032) in `identity/node.key` of the data folder. It
 * is made at the first use of any field, and never replaced.
 *
 * Every field throws an Error with a sentence for people if the key cannot be read, is damaged, or can be read by other
 * accounts of the machine.
 */
export interface NodeIdentity {
  /** The public key in base58, in Bitcoin's alphabet, without a prefix or a checksum. */
  readonly nodeId: string
  /** `did:overlay:<nodeId>` */
  readonly did: string
  /** The public key, 32 bytes. */
  readonly publicKey: Uint8Array
  /** Signs bytes. The signature has 64 bytes. Sign nothing that another party chose alone: add the purpose and a nonce. */
  sign(bytes: Uint8Array): Uint8Array
  /** Returns the private key, PKCS#8 (RFC 8410) as PEM, for TLS between two programs that know each other by their keys. */
  privateKey(): string
}

/** The kernel's service for the identity of the node. */
export const NodeIdentity = defineService<NodeIdentity>('node-identity', 1)
