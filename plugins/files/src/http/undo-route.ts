import { changeOrigin, errorBodyOf, type RoutesApp, undoHeader, userOf } from '@nodekeep/plugin-sdk'
import { type Undo, UndoRefused } from '../undo/undo.ts'
import { deviceHeader, undoBody, undone, undoRefused } from './schemas.ts'

/** Registers `POST /api/files/undo`. */
export function undoRoute(app: RoutesApp, undo: Undo): void {
  const schema = {
    operationId: 'undo',
    summary: 'Take back changes',
    description:
      'Takes back all changes of a group, newest first, if nothing of them was changed since. Otherwise nothing is changed. The ' +
      'header `x-nodekeep-undo` of the answer names what takes the undo back.',
    headers: deviceHeader,
    body: undoBody,
    response: { 200: undone, 409: undoRefused },
  }
  const config = { scope: 'files:write', answersLate: true }
  app.post('/api/files/undo', { schema, config }, async (request, reply) => {
    // A group that the client names might be the one to take back.
    const { 'x-nodekeep-group': _named, ...headers } = request.headers
    const origin = changeOrigin({ user: request.user, headers })
    try {
      const changes = await undo.takeBack(userOf(request).uuid, request.body.group, origin)
      reply.header(undoHeader, origin.group)
      return { success: true, changes }
    } catch (error) {
      if (!(error instanceof UndoRefused)) throw error
      const { paths } = error
      return reply.code(409).send({ ...errorBodyOf(error, request.id), paths: [...paths] })
    }
  })
}
