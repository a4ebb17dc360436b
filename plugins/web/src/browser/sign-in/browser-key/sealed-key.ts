import { xchacha20poly1305 } from '@noble/ciphers/chacha.js'
import { scryptAsync } from '@noble/hashes/scrypt.js'
import { bytesToHex, hexToBytes, randomBytes } from '@noble/hashes/utils.js'
import { addressOf } from '@nodekeep/login-siwe/client'

/** A private key, encrypted with a password: XChaCha20-Poly1305 with a key of scrypt (RFC 7914). Bytes are hexadecimal. */
export interface SealedKey {
  readonly address: string
  readonly scrypt: { readonly N: number; readonly r: number; readonly p: number }
  /** 16 bytes */
  readonly salt: string
  /** 24 bytes */
  readonly nonce: string
  /** 48 bytes: the encrypted key and the tag */
  readonly sealed: string
}

/** 128 MiB of memory for each guess of the password, as OWASP recommends: half a second to a few seconds. */
const scryptCost = { N: 2 ** 17, r: 8, p: 1 }

/** Encrypts a key with a password. */
export async function sealKey(key: Uint8Array, password: string): Promise<SealedKey> {
  const [salt, nonce] = [randomBytes(16), randomBytes(24)]
  const sealed = xchacha20poly1305(await derive(password, salt, scryptCost), nonce).encrypt(key)
  return {
    address: addressOf(key),
    scrypt: scryptCost,
    salt: bytesToHex(salt),
    nonce: bytesToHex(nonce),
    sealed: bytesToHex(sealed),
  }
}

/** Decrypts a key. Returns `null` if the password is wrong. */
export async function openKey(
  { scrypt, salt, nonce, sealed }: SealedKey,
  password: string,
): Promise<Uint8Array | null> {
  const secret = await derive(password, hexToBytes(salt), scrypt)
  try {
    return xchacha20poly1305(secret, hexToBytes(nonce)).decrypt(hexToBytes(sealed))
  } catch {
    return null
  }
}

function derive(password: string, salt: Uint8Array, cost: SealedKey['scrypt']): Promise<Uint8Array> {
  // Keyboards type the same letter as one character or as two.
  return scryptAsync(password.normalize('NFKC'), salt, { ...cost, dkLen: 32 })
}
