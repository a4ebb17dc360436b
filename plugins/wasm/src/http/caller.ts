import { type AuthenticatedUser, NodekeepError } from '@nodekeep/plugin-sdk'
import type { FastifyRequest } from 'fastify'

/** The user who calls. */
export function callerOf({ user }: FastifyRequest): AuthenticatedUser {
  if (user === null) throw new NodekeepError('UNAUTHORIZED', 'Sign in first: this needs a valid session.')
  return user
}
