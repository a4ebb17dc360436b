import type { IncomingMessage } from 'node:http'
import { type AuthenticatedUser, NodekeepError, userOf } from '@nodekeep/plugin-sdk'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { tooManyRequests } from '../errors/too-many-requests.ts'
import { AddressCounter } from '../http/address-counter.ts'
import { externalConnectionOf } from '../http/external-connection.ts'
import type { AccessCheck } from '../http/shared-hooks.ts'
import type { Authenticator } from './authenticator.ts'
import type { NodeOrigins } from './node-origins.ts'
import type { CarriedToken, SessionCookies } from './session-cookies.ts'
import type { SessionWatch } from './session-watch.ts'

/**
 * The paths of sign-ins, which are limited for each client. A foreign page could use up the limit of its visitors, so its
 * requests are refused before they are counted. A request with a token in a header is not from such a page: a browser
 * would send a preflight first.
 */
const signInPaths = '/auth/'

const unencrypted =
  'This connection is not encrypted, so the session token could be read on its way. Sign in at an https address of the node, or from its own network.'

const unencryptedPresentation =
  'This connection is not encrypted, so the token could be read on its way. Use an https address of the node, or its own network.'

/** Wrong tokens of one address that are answered normally. */
const wrongTokensPerMinute = 60

/** Methods that change nothing (RFC 9110, section 9.2.1). */
const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Makes the check that runs before every route. A route without `access` is for signed-in users.
 *
 * A client with too many wrong tokens is told to wait. A token has 256 random bits, so it cannot be guessed. Tokens of such
 * a client are still looked up, because another user behind the same address may have a valid one. A look-up is one read of
 * an index, which costs less than the request, and a connection has one request at a time. A browser also sends the
 * node's own cookie when its session has ended. On a public route this counts as not signed in, and not as a wrong token: the
 * limit would otherwise keep the user from signing in again. A token in the cookie `session` that the node does not know never
 * counts: it may be that of another node on the host.
 *
 * @param watch hears of every request that was let in with a session
 * @param origins tells which pages of other origins may use a user's cookie
 */
export function createAccessCheck(
  authenticator: Authenticator,
  cookies: Pick<SessionCookies, 'tokenOf'>,
  watch: Pick<SessionWatch, 'began'>,
  origins: Pick<NodeOrigins, 'isTrusted'>,
): AccessCheck {
  const wrongTokens = new AddressCounter()

  /** @throws NodekeepError if the request must not reach its route */
  function admit(
    request: FastifyRequest,
    reply: FastifyReply,
    carried: CarriedToken | null,
    user: AuthenticatedUser | null,
  ): void {
    const { access = 'user', scope, presentation } = request.routeOptions.config
    const by = carried?.by
    const isTried = by === 'header' || by === 'presentation' || (by === 'own cookie' && access !== 'public')
    if (user === null && isTried) {
      const { count, seconds } = wrongTokens.count(request.ip)
      if (count > wrongTokensPerMinute) {
        throw tooManyRequests('Too many wrong session tokens came from your address.', seconds)
      }
    }
    // Browsers send cookies by themselves, and passwords that they keep.
    if (user !== null && by !== 'header' && mayChange(request.raw) && !isSameOrigin(request, origins)) {
      const kept = by === 'presentation' ? 'the password that your browser keeps' : 'your session cookie'
      throw new NodekeepError('FORBIDDEN', `A page of another site must not act with ${kept}.`)
    }
    // On a public route, a token without the scope is treated as anonymous.
    const isCovered =
      user !== null && (user.scopes === null || (scope !== undefined && user.scopes.includes(scope)))
    if (access !== 'public') {
      if (user === null && presentation !== undefined) throw unknownToken(presentation.challenge)
      const { owner } = userOf({ user })
      if (access === 'owner' && !owner)
        throw new NodekeepError('FORBIDDEN', "Only the node's owner may do that.")
      if (!isCovered) {
        const needed = scope === undefined ? 'a full session' : `the scope "${scope}"`
        throw new NodekeepError('FORBIDDEN', `This API token may not do that: it needs ${needed}.`)
      }
    }
    if (!isCovered || carried === null) return
    request.user = user
    watch.began(request.raw, reply.raw, user)
  }

  return (request, reply, done) => {
    const decide = (carried: CarriedToken | null, user: AuthenticatedUser | null) => {
      let refused: Error | undefined
      try {
        admit(request, reply, carried, user)
      } catch (error) {
        refused = error as Error
        // The request does not get the user, but its log lines name them.
        if (user !== null) {
          request.log = request.log.child({ user: user.username, userUuid: user.uuid })
        }
      }
      done(refused)
    }
    const carried = cookies.tokenOf(request)
    const { url, config } = request.routeOptions
    if (url?.startsWith(signInPaths)) {
      if (carried?.by !== 'header' && !isSameOrigin(request, origins)) {
        done(new NodekeepError('FORBIDDEN', 'A page of another site must not sign anybody in or out here.'))
        return
      }
      // The routes that end a session are not public.
      if (config.access === 'public' && externalConnectionOf(request.raw)?.encrypted === false) {
        done(new NodekeepError('FORBIDDEN', unencrypted))
        return
      }
    }
    if (config.presentation !== undefined && externalConnectionOf(request.raw)?.encrypted === false) {
      done(new NodekeepError('FORBIDDEN', unencryptedPresentation))
      return
    }
    const known = carried === null ? null : authenticator.cached(carried.token)
    if (carried === null || known !== undefined) decide(carried, known ?? null)
    else authenticator.authenticate(carried.token).then((user) => decide(carried, user), done)
  }
}

/** The error of a request without a valid token, on a route whose clients present tokens in a way of their own. */
function unknownToken(challenge: string): NodekeepError {
  return new NodekeepError('UNAUTHORIZED', 'This needs an API token of the node that is still valid.', {
    headers: { 'www-authenticate': challenge },
  })
}

/** Tells whether a request changes something, or opens a connection that can. */
function mayChange({ method = '', headers }: IncomingMessage): boolean {
  return !safeMethods.has(method) || headers.upgrade !== undefined
}

/**
 * Tells whether a request comes from the node's own pages or from no page at all. A browser also sends a cookie with
 * requests of foreign pages; it says so in `Sec-Fetch-Site` or at least in `Origin`.
 *
 * @param request its `host` is the one that the client sent to a trusted proxy, not the one that the proxy sent on
 * @param origins tells whether the pages of an origin such as `https://app.example` may act as the node's own
 */
function isSameOrigin(
  { headers, protocol, host }: Pick<FastifyRequest, 'headers' | 'protocol' | 'host'>,
  origins: Pick<NodeOrigins, 'isTrusted'>,
): boolean {
  const { origin } = headers
  if (origin !== undefined && origins.isTrusted(origin)) return true
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin' || site === 'none'
  if (origin === undefined) return true
  const own = URL.parse(`${protocol}://${host}`)
  return own !== null && URL.parse(origin)?.host === own.host
}
