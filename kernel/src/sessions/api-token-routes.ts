import { conflict, invalid, NodekeepError, type RoutesApp, Type, userOf } from '@nodekeep/plugin-sdk'
import type { RouteTable } from '../http/route-table.ts'
import { logSecurityEvent } from '../log/security-events.ts'
import { issueApiToken, isTokenName, tokenNameRule } from './issue-session.ts'
import { refuseUnknownScopes } from './known-scopes.ts'
import type { SessionRecord, SessionTable } from './session-table.ts'
import { apiTokenView, idleDaysView, viewApiToken } from './session-view.ts'
import type { UserSessions } from './user-sessions.ts'

const tags = ['account']

/** API tokens that a user may have at the same time. */
const tokensPerUser = 100

const newToken = Type.Object(
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

/** `/api/account/tokens`: named tokens with scopes, for programs. */
export function apiTokenRoutes(
  app: RoutesApp,
  sessions: SessionTable,
  userSessions: UserSessions,
  known: Pick<RouteTable, 'scopes'>,
): void {
  app.get(
    '/api/account/tokens',
    {
      schema: {
        operationId: 'listTokens',
        summary: 'Your API tokens, newest first',
        tags,
        response: {
          200: Type.Object({
            tokens: Type.Array(apiTokenView),
            knownScopes: Type.Array(Type.String()),
            idleDays: idleDaysView,
          }),
        },
      },
    },
    async (request) => ({
      tokens: (await userSessions.live(userOf(request).uuid, 'api-token')).map(viewApiToken),
      knownScopes: known.scopes,
      idleDays: userSessions.idleDays['api-token'],
    }),
  )
  app.post(
    '/api/account/tokens',
    {
      schema: {
        operationId: 'createToken',
        summary: 'Make an API token. It is shown only once',
        tags,
        body: newToken,
        response: { 200: Type.Object({ token: Type.String(), details: apiTokenView }) },
      },
    },
    async (request, reply) => {
      const { name, scopes, expiryDays } = request.body
      const { uuid, sessionId } = userOf(request)
      if (!isTokenName(name)) throw invalid(tokenNameRule)
      refuseUnknownScopes(scopes, known.scopes)
      const { token, record } = await issueApiToken(sessions, {
        userUuid: uuid,
        name,
        scopes: [...new Set(scopes)],
        expiryDays,
      })
      const objection = objectionTo(await userSessions.live(uuid), sessionId)
      if (objection !== null) {
        await userSessions.endIfPresent(uuid, record.id)
        throw objection
      }
      const { id, scopes: granted, expiresAt } = record
      const details = { tokenId: id, name, scopes: granted, expires: expiresAt }
      logSecurityEvent(request, 'token-created', 'A user made an API token.', details)
      reply.header('cache-control', 'no-store')
      return { token, details: viewApiToken(record) }
    },
  )
  app.delete(
    '/api/account/tokens/:id',
    {
      schema: {
        operationId: 'revokeToken',
        summary: 'Revoke an API token',
        tags,
        params: Type.Object({ id: Type.String() }),
        response: { 200: Type.Object({ success: Type.Literal(true) }) },
      },
    },
    async (request) => {
      const { id } = request.params
      await userSessions.end(userOf(request).uuid, id, 'api-token')
      logSecurityEvent(request, 'token-revoked', 'A user revoked an API token.', { tokenId: id })
      return { success: true as const }
    },
  )
}

/**
 * Returns the reason why a new token must not stay, or `null`. The check runs after the token was stored, so that nothing
 * can happen in between. The token must not exceed the limit, and it must not outlive a session that another process has
 * revoked and that this process still has in its cache.
 */
function objectionTo(records: readonly SessionRecord[], sessionId: string): NodekeepError | null {
  if (!records.some(({ id }) => id === sessionId)) {
    return new NodekeepError('UNAUTHORIZED', 'Your session has ended. Sign in again.')
  }
  const tokens = records.filter(({ kind }) => kind === 'api-token')
  if (tokens.length <= tokensPerUser) return null
  return conflict(`You have ${tokensPerUser} API tokens. Revoke one that you do not need.`)
}
