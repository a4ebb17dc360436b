import type { FastifyRequest } from 'fastify'

/** Names of security events, in the field `event` of their lines. SECURITY.md describes them. */
export const securityEvents = [
  'signed-in',
  'owner-claimed',
  'signed-out',
  'session-ended',
  'token-created',
  'token-revoked',
  'user-added',
  'user-changed',
  'user-deleted',
  'plugin-switched',
  'refused',
  'refusals-omitted',
] as const

type SecurityEvent = (typeof securityEvents)[number]

/**
 * Logs a security event at the level `info`, with the address of the client and the user of its request.
 *
 * @param details further fields. Never a token, a claim code or a proof.
 */
export function logSecurityEvent(
  request: FastifyRequest,
  event: SecurityEvent,
  message: string,
  details: Readonly<Record<string, unknown>> = {},
): void {
  request.log.info({ event, ...senderOf(request), ...details }, message)
}

/** Returns the fields of a log line that say who sent a request, and from where. */
export function senderOf({ ip, user }: FastifyRequest): Record<string, string> {
  return user === null ? { ip } : { ip, user: user.username, userUuid: user.uuid }
}
