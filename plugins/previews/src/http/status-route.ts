import { type RoutesApp, Type, userOf } from '@nodekeep/plugin-sdk'
import type { PreviewStatus } from '../status.ts'

const status = Type.Object({
  waiting: Type.Integer({ description: 'Files that were not looked at yet.' }),
  made: Type.Integer({ description: 'Contents of which previews were made.' }),
  failed: Type.Record(Type.String(), Type.Integer(), {
    description:
      'Contents without a preview, by the reason: `broken`, `crash`, `memory`, `no-cover`, `pixels`, `time`.',
  }),
  cacheBytes: Type.Integer({ description: 'Bytes of the previews that are kept.' }),
  cacheLimit: Type.Integer({ description: 'Most bytes of the previews of all users.' }),
  isComplete: Type.Boolean({ description: 'Whether all files were looked at.' }),
})

/** Registers `GET /api/previews/status`. */
export function statusRoute(app: RoutesApp, previews: PreviewStatus): void {
  const schema = {
    operationId: 'getPreviewStatus',
    summary: 'Tell how far the previews are',
    description: 'For the owner, of the whole node. For other users, of their own files.',
    response: { 200: status },
  }
  app.get('/api/previews/status', { schema, config: { scope: 'files:read' } }, async (request) => {
    const { owner, uuid } = userOf(request)
    return owner ? previews.ofNode() : previews.ofUser(uuid)
  })
}
