import { hash, randomBytes } from 'node:crypto'

/**
 * The beginnings of the node's secrets. They let people, the log scrubber and secret scanners recognize one.
 */
export const tokenPrefix = { session: 'nks_', 'api-token': 'nkt_' } as const

/** A new token: the prefix of its kind and 256 bits from the CSPRNG as base64url. */
export function createToken(kind: keyof typeof tokenPrefix): string {
  return tokenPrefix[kind] + randomBytes(32).toString('base64url')
}

const form = /^nk[st]_[\w-]{43}$/

/** Whether a text has the form of a token at all; nothing else is ever looked up. */
export function isTokenForm(text: string): boolean {
  return form.test(text)
}

/** What is stored of a token: its SHA-256. A token has 256 random bits, so no slow hash is needed. */
export function tokenHash(token: string): Uint8Array {
  return hash('sha256', token, 'buffer')
}
