import { type AuthenticatedUser, NodekeepError } from '@nodekeep/plugin-sdk'
import type { FastifyContextConfig } from 'fastify'
import { tooManyRequests } from '../errors/too-many-requests.ts'
import type { AccessCheck } from '../http/shared-hooks.ts'
import type { Authenticator } from './authenticator.ts'
import { FailedAttempts } from './failed-attempts.ts'
import { tokenOf } from './request-token.ts'
import { isSameOrigin, mayChange } from './same-origin.ts'
import type { SessionWatch } from './session-watch.ts'

/**
 * Where people sign in. Each client may try so often; a foreign page could use up what its visitors have, unless it is
 * refused before that is counted. What carries a token in a header is no such page: browsers would ask first.
 */
const signInPaths = '/auth/'

/**
 * The check that runs before every route. A route that says nothing is for signed-in users.
 *
 * Wrong tokens are limited for each client, which spares the database: with 256 random bits, nobody finds one by
 * trying. A browser cannot help sending a cookie whose session has ended, so on a public route that is no
 * attempt but somebody who isn't signed in; else it would be kept from signing in again.
 *
 * @param watch is told of every request that a session was good for
 * @param origins foreign origins that may act with a user's cookie
 */
export function createAccessCheck(
  authenticator: Authenticator,
  watch: Pick<SessionWatch, 'began'>,
  origins: ReadonlySet<string>,
): AccessCheck {
  const failures = new FailedAttempts()
  return (request, reply, done) => {
    const carried = tokenOf(request)
    const { config, url } = request.routeOptions
    if (carried?.by !== 'header' && url?.startsWith(signInPaths) && !isSameOrigin(request, origins)) {
      done(new NodekeepError('FORBIDDEN', 'A page of another site must not sign anybody in or out here.'))
      return
    }
    if (carried === null) {
      done(refusal(config, null))
      return
    }
    const decide = (user: AuthenticatedUser | null) => {
      const isStale = user === null && carried.by === 'cookie' && config.access === 'public'
      const wait = user === null && !isStale ? failures.count(request.ip) : 0
      if (wait > 0) {
        done(tooManyRequests('Too many wrong session tokens came from your address.', wait))
        return
      }
      if (
        user !== null &&
        carried.by === 'cookie' &&
        mayChange(request.raw) &&
        !isSameOrigin(request, origins)
      ) {
        done(new NodekeepError('FORBIDDEN', 'A page of another site must not act with your session cookie.'))
        return
      }
      const refused = refusal(config, user)
      if (user !== null && isCovered(user, config.scope)) {
        request.user = user
        if (refused === undefined) watch.began(request.raw, reply.raw, carried.token, user.uuid)
      }
      done(refused)
    }
    const known = authenticator.cached(carried.token)
    if (known !== undefined) decide(known)
    else authenticator.authenticate(carried.token).then(decide, done)
  }
}

function refusal(route: FastifyContextConfig, user: AuthenticatedUser | null): NodekeepError | undefined {
  const { access = 'user', scope } = route
  if (access === 'public') return undefined
  if (user === null) {
    return new NodekeepError('UNAUTHORIZED', 'Sign in first: this needs a valid session.', {
      headers: { 'www-authenticate': 'Bearer' },
    })
  }
  if (access === 'owner' && !user.owner)
    return new NodekeepError('FORBIDDEN', "Only the node's owner may do that.")
  if (!isCovered(user, scope)) {
    const needed = scope === undefined ? 'a full session' : `the scope "${scope}"`
    return new NodekeepError('FORBIDDEN', `This API token may not do that: it needs ${needed}.`)
  }
  return undefined
}

/** Whether a token may do what a route does. A public route serves one that may not like anybody else. */
function isCovered({ scopes }: AuthenticatedUser, scope: string | undefined): boolean {
  return scopes === null || (scope !== undefined && scopes.includes(scope))
}
