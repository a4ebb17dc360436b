import { secp256k1 } from '@noble/curves/secp256k1.js'
import { keccak_256 } from '@noble/hashes/sha3.js'
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { checksumAddress } from './message.ts'

/*
 * A private key as Ethereum uses it: 32 bytes on the curve secp256k1. WebCrypto has neither this curve nor, on plain-HTTP names of a
 * network, anything else than random numbers.
 */

/** Returns a new private key. */
export function newKey(): Uint8Array {
  return secp256k1.utils.randomSecretKey()
}

/** Returns the address of a key, in EIP-55 form: the last 20 bytes of the Keccak-256 of its public key. */
export function addressOf(key: Uint8Array): string {
  const publicKey = secp256k1.getPublicKey(key, false).subarray(1)
  return checksumAddress(`0x${bytesToHex(keccak_256(publicKey).subarray(12))}`)
}

/** Signs a text as a wallet does for `personal_sign` (EIP-191, version 0x45). Returns `0x`, r, s and v. */
export function signText(key: Uint8Array, text: string): string {
  const bytes = utf8ToBytes(text)
  const hash = keccak_256(concatBytes(utf8ToBytes(`\x19Ethereum Signed Message:\n${bytes.length}`), bytes))
  const signature = secp256k1.sign(hash, key, { prehash: false, format: 'recovered' })
  const v = 27 + (signature[0] ?? 0)
  return `0x${bytesToHex(signature.subarray(1))}${v.toString(16)}`
}

/** Returns a key in the form that wallets and programs import: `0x` and 64 hexadecimal digits. */
export function textOfKey(key: Uint8Array): string {
  return `0x${bytesToHex(key)}`
}

/** Reads a key, with or without `0x`. Returns `null` if the text is not a key. */
export function readKey(text: string): Uint8Array | null {
  const [, digits] = /^(?:0x)?([0-9a-f]{64})$/i.exec(text.trim()) ?? []
  if (digits === undefined) return null
  const key = hexToBytes(digits.toLowerCase())
  return secp256k1.utils.isValidSecretKey(key) ? key : null
}
