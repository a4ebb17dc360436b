import { type RoutesApp, Type } from '@nodekeep/plugin-sdk'
import { type Health, healthReport } from './health-report.ts'

const findings = Type.Object({
  ...healthReport.properties,
  checks: Type.Record(
    Type.String(),
    Type.Object({
      ok: Type.Boolean(),
      state: Type.String(),
      message: Type.Optional(
        Type.String({ description: 'Sentences for the owner: what is wrong, and what to do.' }),
      ),
    }),
  ),
  attention: Type.Array(
    Type.Object({
      name: Type.String({ description: 'The name of the check.' }),
      ok: Type.Boolean({ description: 'Whether it is only a warning.' }),
      state: Type.String(),
      message: Type.String({ description: 'Sentences for the owner: what is wrong, and what to do.' }),
    }),
    { description: 'All that needs the owner: failures, then warnings.' },
  ),
})

/** `GET /health` for everybody, and `GET /api/system/health` with every check for the owner. */
export function healthRoutes(app: RoutesApp, health: Health): void {
  app.get(
    '/health',
    {
      config: {
        access: 'public',
        publicReason: 'Load balancers and supervisors call it. It contains no data of users.',
      },
      schema: {
        operationId: 'getHealth',
        summary: 'The health of the node',
        tags: ['system'],
        response: { 200: healthReport, 503: healthReport },
      },
    },
    async (_request, reply) => {
      const { report, serving } = await health.status()
      reply.header('cache-control', 'no-store')
      return reply.code(serving ? 200 : 503).send(report)
    },
  )
  app.get(
    '/api/system/health',
    {
      config: { access: 'owner' },
      schema: {
        operationId: 'getHealthReport',
        summary: 'The result of every health check',
        tags: ['system'],
        response: { 200: findings },
      },
    },
    async () => {
      const status = await health.status()
      return { ...status.report, checks: { ...status.findings }, attention: [...status.attention] }
    },
  )
}
