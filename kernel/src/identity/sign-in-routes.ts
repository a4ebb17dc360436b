import { type NodeAddress, NodekeepError, type RoutesApp, Type } from '@nodekeep/plugin-sdk'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { SessionCookies } from './session-cookie.ts'
import type { SignIn } from './sign-in.ts'
import type { UserAdministration } from './user-administration.ts'
import { signedInUser, viewOf } from './user-view.ts'

const tags = ['authentication']

/** Larger than the proof of any provider; a signed message of a smart-contract wallet has a few kilobytes. */
const bodyLimit = 64 * 1024

const credentials = Type.Object({
  uuid: Type.String({ minLength: 1, maxLength: 512, description: 'The identifier at the login provider.' }),
  address: Type.String({ maxLength: 64, description: 'The wallet address.' }),
  token: Type.String({ minLength: 1, description: 'The proof, in the form of the login provider.' }),
  claim: Type.Optional(
    Type.String({ maxLength: 64, description: 'The code that an unclaimed node prints at its start.' }),
  ),
})

export interface SignInRouteParts {
  readonly signIn: SignIn
  readonly address: NodeAddress
  readonly cookies: SessionCookies
  readonly administration: UserAdministration
  readonly signInsPerMinute: number
}

/** `POST /auth/:provider` (interface, "Authentication endpoints") and `POST /auth/logout`. */
export function signInRoutes(app: RoutesApp, parts: SignInRouteParts): void {
  const { signIn, address, cookies, administration } = parts
  app.post(
    '/auth/:provider',
    {
      bodyLimit,
      config: {
        access: 'public',
        publicReason: 'It is how one signs in. It is limited for each address.',
        rateLimit: { max: parts.signInsPerMinute, timeWindow: 60_000 },
      },
      schema: {
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
      const { user, token: sessionToken } = await signIn.signIn({
        provider: request.params.provider,
        credentials: { uuid, address: wallet, token },
        claim,
        origin: address.originOf(request),
        signal: clientGone(reply),
        label: labelOf(request),
      })
      cookies.set(reply, sessionToken)
      reply.header('cache-control', 'no-store')
      return { success: true as const, user: viewOf(user), sessionToken }
    },
  )
  app.post(
    '/auth/logout',
    {
      schema: {
        summary: 'End this session',
        tags,
        response: { 200: Type.Object({ success: Type.Literal(true) }) },
      },
    },
    async ({ user }, reply) => {
      if (user !== null) await administration.endIfThere(user.uuid, user.sessionId)
      cookies.clear(reply)
      return { success: true as const }
    },
  )
}

/** Aborts when the client leaves before it was answered. The reason is nobody's fault, so the log is spared it. */
function clientGone({ raw }: FastifyReply): AbortSignal {
  const abort = new AbortController()
  const leave = () => {
    if (!raw.writableFinished) abort.abort(new NodekeepError('REQUEST_TIMEOUT', 'The client is gone.'))
  }
  if (raw.destroyed) leave()
  else raw.once('close', leave)
  return abort.signal
}

/** A short form of the signing-in program, for the list of sessions. */
function labelOf({ headers }: FastifyRequest): string {
  const agent = headers['user-agent'] ?? 'unknown program'
  return agent.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 120)
}
