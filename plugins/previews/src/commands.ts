import { answerOf, defineCommands, runningNode } from '@nodekeep/plugin-sdk'
import { bytesText } from '@nodekeep/plugin-sdk/bytes-text'
import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'

type Status = NodeAnswers['GET /api/previews/status']

/** The command `nodekeep previews status`. It asks the running node, as its owner. */
export default defineCommands({
  async status(context) {
    const { options, output } = context
    const node = await runningNode(context)
    const status = await answerOf<Status>(node.fetch('/api/previews/status'))
    if (options.json === true) return output.state(status)
    const { waiting, made, failed, cacheBytes, cacheLimit, isComplete } = status
    output.state({
      waiting,
      made,
      cache: `${bytesText(cacheBytes)} of ${bytesText(cacheLimit)}`,
      complete: isComplete,
    })
    const reasons = Object.entries(failed).map(([reason, files]) => ({ reason, files }))
    if (reasons.length === 0) return
    output.lines('', 'Without a preview:')
    output.table(reasons, '')
  },
})
