import { clientSignal, EventStream, type RoutesApp, Type } from '@nodekeep/plugin-sdk'
import { logSecurityEvent } from '../security-event.ts'
import type { LentFolder } from './lent-folder.ts'

const config = { access: 'owner', scope: 'backup', answersLate: true } as const

/** Milliseconds between two heartbeats of the stream. */
const heartbeatMs = 15_000

/** Registers the endpoints that lend a view of the node to a program of this machine. */
export function lendRoutes(app: RoutesApp, lent: LentFolder): void {
  const lend = {
    operationId: 'lendMoment',
    summary: 'Lend a view of the whole node at one moment',
    description:
      'The answer is a stream. Its event `moment` has the path of a folder on the machine of the node, as JSON. The folder is removed ' +
      'when the client closes the connection. The event `failure` has the error of a view that could not be made.',
    querystring: Type.Object({
      copies: Type.Optional(
        Type.Boolean({
          description:
            'Whether all files of the view are copies. By default files on the disk of the view are hard links to those of the node.',
        }),
      ),
    }),
    response: {
      200: {
        description: 'The events `moment` or `failure`.',
        content: { 'text/event-stream': { schema: Type.Unsafe<never>({ type: 'string' }) } },
      },
    },
  }
  app.post('/moment', { schema: lend, config }, async (request, reply) => {
    const left = clientSignal(reply)
    const stream = new EventStream(reply, heartbeatMs)
    try {
      await lent.lend({ copies: request.query.copies ?? false, signal: left }, (path) => {
        logSecurityEvent(request, 'backup-lent', 'The whole node at one moment is lent to a program.')
        stream.send(JSON.stringify({ path }), { event: 'moment' })
      })
    } catch (error) {
      stream.endWithFailure(error, request, left)
      return reply
    }
    stream.end()
    return reply
  })

  const giveBack = {
    operationId: 'giveMomentBack',
    summary: 'Remove the lent view, and answer when it is gone',
    response: { 200: Type.Object({ success: Type.Boolean() }) },
  }
  app.delete('/moment', { schema: giveBack, config }, async () => {
    await lent.giveBack()
    return { success: true }
  })
}
