import { type AuthenticatedUser, NodekeepError, userOf } from '@nodekeep/plugin-sdk'
import type { FastifyRequest } from 'fastify'
import { tooManyRequests } from '../errors/too-many-requests.ts'
import type { AccessCheck } from '../http/shared-hooks.ts'
import type { SessionWatch } from '../sessions/session-watch.ts'
import type { Authenticator } from './authenticator.ts'
import { FailedAttempts } from './failed-attempts.ts'
import { isSameOrigin, mayChange, tokenOf } from './request-token.ts'

/**
 * The paths of sign-ins, which are limited for each client. A foreign page could use up the limit of its visitors, so its
 * requests are refused before they are counted. A request with a token in a header is not from such a page: a browser
 * would send a preflight first.
 */
const signInPaths = '/auth/'

/**
 * Makes the check that runs before every route. A route without `access` is for signed-in users.
 *
 * Wrong tokens are limited for each client to spare the database. A token has 256 random bits, so it cannot be guessed. A
 * browser also sends a cookie whose session has ended. On a public route this counts as not signed in, and not as a
 * wrong token: the limit would otherwise keep the user from signing in again.
 *
 * @param watch hears of every request that was let in with a session
 * @param origins foreign origins that may use a user's cookie
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
      done(refusal(request, null))
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
      const refused = refusal(request, user)
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

/** Returns the reason why a request must not reach its route, or `undefined`. */
function refusal(request: FastifyRequest, user: AuthenticatedUser | null): Error | undefined {
  const { access = 'user', scope } = request.routeOptions.config
  if (access === 'public') return undefined
  try {
    // Without a user, `request.user` is null, and `userOf` throws the error that every other part throws too.
    const caller = user ?? userOf(request)
    if (access === 'owner' && !caller.owner) {
      return new NodekeepError('FORBIDDEN', "Only the node's owner may do that.")
    }
    if (isCovered(caller, scope)) return undefined
  } catch (error) {
    return error as Error
  }
  const needed = scope === undefined ? 'a full session' : `the scope "${scope}"`
  return new NodekeepError('FORBIDDEN', `This API token may not do that: it needs ${needed}.`)
}

/** Tells whether a token covers a route. On a public route, a token without the scope is treated as anonymous. */
function isCovered({ scopes }: AuthenticatedUser, scope: string | undefined): boolean {
  return scopes === null || (scope !== undefined && scopes.includes(scope))
}
