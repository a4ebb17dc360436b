import type { FastifyRequest } from 'fastify'
import type { AuthenticatedUser } from './contracts/users.ts'
import { NodekeepError } from './errors.ts'

/**
 * The user who makes a request. On routes with `access: 'user'` or `'owner'` there always is one.
 *
 * @throws NodekeepError UNAUTHORIZED on a public route that nobody is signed in to
 */
export function userOf({ user }: Pick<FastifyRequest, 'user'>): AuthenticatedUser {
  if (user !== null) return user
  throw new NodekeepError('UNAUTHORIZED', 'Sign in first: this needs a valid session.', {
    headers: { 'www-authenticate': 'Bearer' },
  })
}
