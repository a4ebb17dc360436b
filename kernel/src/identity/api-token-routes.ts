import {
  NodekeepError,
  type RoutesApp,
  type SessionRecord,
  type SessionStore,
  Type,
} from '@nodekeep/plugin-sdk'
import { callerOf } from './account-routes.ts'
import { issueApiToken } from './issue-session.ts'
import type { LiveSessions } from './session-life.ts'
import { apiTokenView, viewApiToken } from './session-view.ts'
import { isTokenName, tokenNameRule } from './token-name.ts'
import type { UserAdministration } from './user-administration.ts'

const tags = ['account']

/** API tokens that a user may have at a time. */
const tokensPerUser = 100

const wish = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 100, description: tokenNameRule }),
    scopes: Type.Array(Type.String({ minLength: 1, maxLength: 100 }), { minItems: 1, maxItems: 100 }),
    expiryDays: Type.Union([Type.Integer({ minimum: 1, maximum: 3650 }), Type.Null()], {
      default: 90,
      description: 'Days until the token expires; null for never.',
    }),
  },
  { additionalProperties: false },
)

export interface ApiTokenRouteParts {
  readonly sessions: SessionStore
  readonly liveSessions: LiveSessions
  readonly administration: UserAdministration
  /** The scopes that the routes of the node ask for now. */
  readonly knownScopes: () => ReadonlySet<string>
}

/** `/api/account/tokens`: named tokens with scopes, for programs. */
export function apiTokenRoutes(app: RoutesApp, parts: ApiTokenRouteParts): void {
  const { sessions, liveSessions, administration, knownScopes } = parts
  app.get(
    '/api/account/tokens',
    {
      schema: {
        summary: 'Your API tokens, newest first',
        tags,
        response: {
          200: Type.Object({ tokens: Type.Array(apiTokenView), knownScopes: Type.Array(Type.String()) }),
        },
      },
    },
    async (request) => ({
      tokens: (await tokensOf(liveSessions, callerOf(request).uuid)).map(viewApiToken),
      knownScopes: [...knownScopes()].sort(),
    }),
  )
  app.post(
    '/api/account/tokens',
    {
      schema: {
        summary: 'Make an API token; it is shown this once',
        tags,
        body: wish,
        response: { 200: Type.Object({ token: Type.String(), details: apiTokenView }) },
      },
    },
    async (request, reply) => {
      const { name, scopes, expiryDays } = request.body
      const { uuid, sessionId } = callerOf(request)
      if (!isTokenName(name)) throw new NodekeepError('VALIDATION_ERROR', tokenNameRule)
      refuseUnknownScopes(scopes, knownScopes())
      const wish = { userUuid: uuid, name, scopes: [...new Set(scopes)], expiryDays }
      const { token, record } = await issueApiToken(sessions, wish)
      const objection = objectionTo(await liveSessions(uuid), sessionId)
      if (objection !== null) {
        await administration.endIfThere(uuid, record.id)
        throw objection
      }
      reply.header('cache-control', 'no-store')
      return { token, details: viewApiToken(record) }
    },
  )
  app.delete(
    '/api/account/tokens/:id',
    {
      schema: {
        summary: 'Revoke an API token',
        tags,
        params: Type.Object({ id: Type.String() }),
        response: { 200: Type.Object({ success: Type.Literal(true) }) },
      },
    },
    async (request) => {
      await administration.endSession(callerOf(request).uuid, request.params.id, 'api-token')
      return { success: true as const }
    },
  )
}

async function tokensOf(liveSessions: LiveSessions, userUuid: string) {
  return (await liveSessions(userUuid)).filter(({ kind }) => kind === 'api-token')
}

/**
 * Looked for when the token is stored, so that nothing comes in between: it must not be one too many, and must not
 * outlive a session that another process revoked and that this one still believes.
 */
function objectionTo(records: readonly SessionRecord[], sessionId: string): NodekeepError | null {
  if (!records.some(({ id }) => id === sessionId)) {
    return new NodekeepError('UNAUTHORIZED', 'Your session has ended. Sign in again.')
  }
  const tokens = records.filter(({ kind }) => kind === 'api-token')
  if (tokens.length <= tokensPerUser) return null
  return new NodekeepError(
    'CONFLICT',
    `You have ${tokensPerUser} API tokens. Revoke one that you don't need.`,
  )
}

/** A misspelt scope would make a token that looks right and opens nothing. */
function refuseUnknownScopes(scopes: readonly string[], known: ReadonlySet<string>): void {
  const unknown = scopes.filter((scope) => !known.has(scope))
  if (unknown.length === 0) return
  const there =
    known.size === 0 ? 'No route of this node asks for a scope.' : `There is ${[...known].sort().join(', ')}.`
  throw new NodekeepError(
    'VALIDATION_ERROR',
    `Unknown scope ${unknown.map((s) => `"${s}"`).join(', ')}. ${there}`,
  )
}
