import { answerOf, defineCommands, runningNode } from '@nodekeep/plugin-sdk'
import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import { newSecret } from './signature.ts'

/** The commands `nodekeep attention-webhook …`. All but `secret` ask the running node. */
export default defineCommands({
  async status(context) {
    const node = await runningNode(context)
    type Status = NodeAnswers['GET /api/attention-webhook']
    const { receiver, toldAt, problem } = await answerOf<Status>(node.fetch('/api/attention-webhook'))
    context.output.state({
      receiver: receiver ?? 'none',
      told: toldAt ?? 'never',
      problem: problem ?? 'none',
    })
  },

  async test(context) {
    const node = await runningNode(context)
    type Tested = NodeAnswers['POST /api/attention-webhook/test']
    const sent = node.fetch('/api/attention-webhook/test', { method: 'POST' })
    const { receiver } = await answerOf<Tested>(sent)
    context.output.lines(`${receiver} has taken the test message.`)
  },

  async secret({ output }) {
    output.state({ secret: newSecret() })
  },
})
