import { createHmac, randomBytes } from 'node:crypto'

/*
 * Standard Webhooks 1.0.0 (https://www.standardwebhooks.com), "Signature scheme". Receivers verify with its libraries, which exist for
 * most languages.
 */

const prefix = 'whsec_'

/** 24 to 64 bytes in base64, after the prefix, as the pattern of a JSON Schema. */
export const secretPattern = `^${prefix}[A-Za-z0-9+/]{32,86}={0,2}$`

/** Returns a new secret with 32 random bytes. */
export function newSecret(): string {
  return prefix + randomBytes(32).toString('base64')
}

/**
 * Returns the headers that prove that a message comes from the node: its id, which stays the same when it is sent again, the time of
 * sending in seconds since 1970, and the signature of both with the body.
 */
export function signedHeaders(secret: string, id: string, body: string, now: Date): Record<string, string> {
  const timestamp = String(Math.floor(now.getTime() / 1000))
  const key = Buffer.from(secret.slice(prefix.length), 'base64')
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` }
}
