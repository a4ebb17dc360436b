import { clientSignal, parseWallet, type RoutesApp, Type } from '@nodekeep/plugin-sdk'
import type { FastifyRequest } from 'fastify'
import type { Authenticator } from '../access/authenticator.ts'
import type { NodeOrigins } from '../access/node-origins.ts'
import type { SessionCookies } from '../access/session-cookies.ts'
import type { Configuration } from '../configuration/configuration.ts'
import { logSecurityEvent } from '../log/security-events.ts'
import type { UserSessions } from '../sessions/user-sessions.ts'
import { anonymousUser, signedInUser, viewOf } from '../users/user-view.ts'
import type { SignIn } from './sign-in.ts'

const tags = ['authentication']

/** Larger than the proof of any provider: the signed message of a smart-contract wallet has a few kilobytes. */
const bodyLimit = 64 * 1024

const daySeconds = 24 * 60 * 60

const credentials = Type.Object({
  uuid: Type.String({ minLength: 1, maxLength: 512, description: 'The identifier at the login provider.' }),
  address: Type.String({ maxLength: 64, description: 'The wallet address.' }),
  token: Type.String({ minLength: 1, description: 'The proof, in the form of the login provider.' }),
  claim: Type.Optional(
    Type.String({ maxLength: 64, description: 'The code that an unclaimed node prints when it starts.' }),
  ),
})

interface SignInRouteServices {
  readonly signIn: SignIn
  readonly nodeOrigins: NodeOrigins
  readonly sessionCookies: SessionCookies
  readonly authenticator: Authenticator
  readonly userSessions: UserSessions
  readonly configuration: Configuration
}

/** The routes `POST /auth/:provider`, `POST /auth/logout` and `GET /whoami` (interface, "Authentication endpoints"). */
export function signInRoutes(app: RoutesApp, services: SignInRouteServices): void {
  const { signIn, nodeOrigins: origins, sessionCookies: cookies, authenticator, userSessions } = services
  const { auth, session } = services.configuration.kernel
  app.post(
    '/auth/:provider',
    {
      bodyLimit,
      config: {
        access: 'public',
        publicReason: 'Clients sign in here. Requests are limited for each address.',
        rateLimit: { max: auth.signInsPerMinute, timeWindow: 60_000 },
      },
      schema: {
        operationId: 'signIn',
        summary: 'Sign in with a wallet',
        tags,
        params: Type.Object({ provider: Type.String() }),
        body: credentials,
        response: {
          200: Type.Object({ success: Type.Literal(true), user: signedInUser, sessionToken: Type.String() }),
        },
      },
    },
    async (request, reply) => {
      const { uuid, address: wallet, token, claim = null } = request.body
      const { provider } = request.params
      // The line about a refusal names the provider and the wallet too.
      request.log = request.log.child({ provider, wallet: parseWallet(wallet) })
      const {
        user,
        token: sessionToken,
        claimed,
      } = await signIn.signIn({
        provider,
        credentials: { uuid, address: wallet, token },
        claim,
        origin: origins.originOf(request),
        signal: clientSignal(reply),
        label: labelOf(request),
      })
      const who = { user: user.username, userUuid: user.uuid }
      if (claimed) logSecurityEvent(request, 'owner-claimed', 'The node has its first owner.', who)
      logSecurityEvent(request, 'signed-in', 'A user signed in.', who)
      cookies.set(reply, sessionToken, session.expiryDays * daySeconds)
      reply.header('cache-control', 'no-store')
      return { success: true as const, user: viewOf(user), sessionToken }
    },
  )
  app.post(
    '/auth/logout',
    {
      schema: {
        operationId: 'signOut',
        summary: 'End this session',
        description:
          'It ends the session of the token in the header. Without one, it ends all sessions of this node in the cookies.',
        tags,
        response: { 200: Type.Object({ success: Type.Literal(true) }) },
      },
    },
    async (request, reply) => {
      const carried = cookies.tokenOf(request)
      const tokens = carried?.by === 'header' ? [carried.token] : cookies.tokensOf(request)
      const ended = new Set<string>()
      for (const token of tokens) {
        const user = authenticator.cached(token) ?? (await authenticator.authenticate(token))
        // An API token in a cookie is no session of a browser.
        if (user === null || user.scopes !== null) continue
        await userSessions.endIfPresent(user.uuid, user.sessionId)
        ended.add(token)
      }
      logSecurityEvent(request, 'signed-out', 'A user signed out.')
      cookies.clear(reply, ended)
      return { success: true as const }
    },
  )
  app.get(
    '/whoami',
    {
      config: { access: 'public', publicReason: 'It tells a client whether it is signed in.' },
      schema: {
        operationId: 'whoAmI',
        summary: 'Who is signed in',
        tags,
        response: { 200: Type.Object({ user: Type.Union([signedInUser, anonymousUser]) }) },
      },
    },
    async (request, reply) => {
      if (request.user !== null) return { user: viewOf(request.user) }
      const carried = cookies.tokenOf(request)
      // The session of the node's own cookie has ended: the browser should drop the cookie.
      if (carried?.by === 'own cookie') cookies.clear(reply, new Set([carried.token]))
      return { user: { authenticated: false as const } }
    },
  )
}

/** Returns a short name of the client program, for the list of sessions. */
function labelOf({ headers }: FastifyRequest): string {
  const agent = headers['user-agent'] ?? 'unknown program'
  return agent.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 120)
}
