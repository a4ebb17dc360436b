import { hash, randomBytes } from 'node:crypto'

/** The prefixes of the node's tokens. People, the log scrubber and secret scanners recognize a token by its prefix. */
const tokenPrefix = { session: 'nks_', 'api-token': 'nkt_' } as const

/** Makes a token: the prefix of its kind and 256 bits from the CSPRNG as base64url. */
export function createToken(kind: keyof typeof tokenPrefix): string {
  return tokenPrefix[kind] + randomBytes(32).toString('base64url')
}

const form = /^nk[st]_[\w-]{43}$/

/** Tells whether a text has the form of a token. Other texts are never looked up. */
export function isTokenForm(text: string): boolean {
  return form.test(text)
}

/** Returns the SHA-256 of a token, which the node stores instead of the token. A token has 256 random bits, so no slow hash is needed. */
export function tokenHash(token: string): Uint8Array {
  return hash('sha256', token, 'buffer')
}
