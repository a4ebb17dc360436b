import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
} from 'node:crypto'
import { Signature } from '@tufjs/models'

/** The public half of a key, as the metadata of TUF has it. */
export interface PublicKey {
  readonly keytype: string
  readonly scheme: string
  /** In hexadecimal digits. */
  readonly keyval: { readonly public: string }
}

/** An Ed25519 key that signs metadata (https://theupdateframework.github.io/specification/latest/, section 4.2). */
export class SigningKey {
  readonly #private: KeyObject
  readonly public: PublicKey
  /** The SHA-256 of the public half in Canonical JSON, in hexadecimal digits. */
  readonly id: string

  private constructor(key: KeyObject) {
    const { x = '' } = createPublicKey(key).export({ format: 'jwk' })
    const hex = Buffer.from(x, 'base64url').toString('hex')
    this.#private = key
    // With the keys in alphabetic order, this JSON is canonical.
    this.public = { keytype: 'ed25519', keyval: { public: hex }, scheme: 'ed25519' }
    this.id = createHash('sha256').update(JSON.stringify(this.public)).digest('hex')
  }

  static create(): SigningKey {
    return new SigningKey(generateKeyPairSync('ed25519').privateKey)
  }

  /**
   * Reads a key in the form of {@link SigningKey.toPem}.
   *
   * @throws an error if it is no Ed25519 key, or the passphrase is missing or wrong
   */
  static fromPem(pem: string, passphrase?: string): SigningKey {
    const key = createPrivateKey({ key: pem, format: 'pem', ...(passphrase !== undefined && { passphrase }) })
    if (key.asymmetricKeyType !== 'ed25519') throw new Error('The key is no Ed25519 key.')
    return new SigningKey(key)
  }

  /** Returns the private key as PKCS #8 (RFC 5958) in PEM, which `openssl pkey` reads too. */
  toPem(passphrase?: string): string {
    const encrypted = passphrase === undefined ? {} : { cipher: 'aes-256-cbc', passphrase }
    return this.#private.export({ type: 'pkcs8', format: 'pem', ...encrypted }).toString()
  }

  sign(data: Buffer): Signature {
    return new Signature({ keyID: this.id, sig: sign(null, data, this.#private).toString('hex') })
  }
}
