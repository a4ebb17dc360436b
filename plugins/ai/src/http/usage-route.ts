import { NodekeepError, type RoutesApp, Type, userOf } from '@nodekeep/plugin-sdk'
import type { FastifyRequest } from 'fastify'
import type { UsageLedger } from '../usage/usage-ledger.ts'

const count = Type.Integer({ minimum: 0 })

const report = Type.Object({
  usage: Type.Array(
    Type.Object({
      day: Type.String({ format: 'date', description: 'A day of UTC.' }),
      provider: Type.String(),
      model: Type.String(),
      requests: count,
      failed: count,
      aborted: count,
      inputTokens: count,
      outputTokens: count,
      estimated: Type.Integer({ minimum: 0, description: 'Requests whose tokens are estimated.' }),
    }),
  ),
})

const query = Type.Object(
  {
    user: Type.Optional(
      Type.String({ format: 'uuid', description: 'Another user. Only for the owner, with a full session.' }),
    ),
  },
  { additionalProperties: false },
)

type UsageRequest = FastifyRequest<{ Querystring: { user?: string } }>

/** Registers `GET /api/ai/usage`. */
export function usageRoute(app: RoutesApp, ledger: UsageLedger): void {
  const schema = {
    operationId: 'getAiUsage',
    summary: 'Report the usage by day and model',
    querystring: query,
    response: { 200: report },
  }
  app.get('/api/ai/usage', { config: { scope: 'ai' }, schema }, async (request) => ({
    usage: await ledger.report(requestedUser(request)),
  }))
}

/** @throws NodekeepError FORBIDDEN */
function requestedUser(request: UsageRequest): string {
  const user = userOf(request)
  const asked = request.query.user?.toLowerCase() ?? user.uuid
  if (asked === user.uuid || (user.owner && user.scopes === null)) return asked
  throw new NodekeepError(
    'FORBIDDEN',
    "Only the node's owner, with a full session, may see the usage of others.",
  )
}
