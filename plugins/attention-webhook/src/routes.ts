import { clientSignal, NodekeepError, type RoutesApp, Type } from '@nodekeep/plugin-sdk'
import { testMessage } from './message.ts'
import type { Receiver } from './receiver.ts'
import type { Reports } from './reports.ts'

const status = Type.Object({
  receiver: Type.Union([Type.String(), Type.Null()], {
    description: 'The host that gets the messages. Null if the configuration names none.',
  }),
  toldAt: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
    description: 'When it took the last message about the node.',
  }),
  problem: Type.Union([Type.String(), Type.Null()], {
    description: 'Why the newest message has not arrived. It is sent again.',
  }),
  command: Type.String({
    description:
      'The words that run the commands of the webhook in a shell on the machine of the node, such as `nodekeep attention-webhook`.',
  }),
})

interface WebhookServices {
  readonly receiver: Receiver
  readonly reports: Pick<Reports, 'status'>
  readonly node: () => string
}

/**
 * The routes `GET /api/attention-webhook` and `POST /api/attention-webhook/test`, for the owner.
 *
 * @param webhook `null` if the configuration names no receiver
 * @param command the words that run the commands of the webhook in a shell
 */
export function webhookRoutes(app: RoutesApp, webhook: WebhookServices | null, command: string): void {
  const config = { access: 'owner' } as const
  app.get(
    '/api/attention-webhook',
    {
      config,
      schema: {
        operationId: 'getAttentionWebhook',
        summary: 'The receiver of the webhook, and whether it was reached',
        response: { 200: status },
      },
    },
    async () =>
      webhook === null
        ? { receiver: null, toldAt: null, problem: null, command }
        : { receiver: webhook.receiver.host, ...(await webhook.reports.status()), command },
  )
  app.post(
    '/api/attention-webhook/test',
    {
      config: { ...config, answersLate: true },
      schema: {
        operationId: 'testAttentionWebhook',
        summary: 'Send a message to the receiver to try it out, once',
        response: { 200: Type.Object({ receiver: Type.String() }) },
      },
    },
    async (_request, reply) => {
      if (webhook === null)
        throw new NodekeepError(
          'CONFLICT',
          'No receiver is configured. Set "attention-webhook.url" and "attention-webhook.secret" in the configuration, and restart the node.',
        )
      const { receiver, node } = webhook
      const problem = await receiver.send(testMessage(node()), clientSignal(reply))
      if (problem !== null) throw new NodekeepError('UPSTREAM_ERROR', `The test did not arrive: ${problem}`)
      return { receiver: receiver.host }
    },
  )
}
