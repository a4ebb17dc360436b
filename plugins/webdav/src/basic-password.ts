import type { FastifyRequest } from 'fastify'

/** The challenge to a client that has sent no token (RFC 7617, section 2.1). */
export const basicChallenge = 'Basic realm="Nodekeep", charset="UTF-8"'

/**
 * Returns the password of `Authorization: Basic` (RFC 7617), whatever the user name is; null without this header. A user name has no colon, so the
 * password begins after the first one.
 */
export function basicPassword({ headers }: Pick<FastifyRequest, 'headers'>): string | null {
  const encoded = /^Basic +([A-Za-z0-9+/_=-]+) *$/i.exec(headers.authorization ?? '')?.[1]
  if (encoded === undefined) return null
  const credentials = Buffer.from(encoded, 'base64').toString()
  const colon = credentials.indexOf(':')
  return colon === -1 ? null : credentials.slice(colon + 1)
}
