import { createHash, randomBytes } from 'node:crypto'

/** Makes the secret of a link: 256 random bits in base64url. */
export function newToken(): string {
  return randomBytes(32).toString('base64url')
}

/**
 * Returns the hash by which a link is stored and found. Only an index of the database compares it: its time tells something of the hash at
 * most, which nobody can choose the token for.
 */
export function hashOfToken(token: string): Uint8Array {
  return createHash('sha256').update(token).digest()
}
