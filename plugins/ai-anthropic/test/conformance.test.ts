import { aiConformance } from '@nodekeep/plugin-sdk/conformance/ai'
import { test } from 'tap'
import { key, models } from './anthropic-server.ts'
import { startChatNode } from './chat-node.ts'

aiConformance(test, {
  async setUp() {
    const { provider, server, close } = await startChatNode()
    return {
      provider,
      models,
      server,
      key,
      wireLacks: [
        'temperature',
        'topP',
        'frequencyPenalty',
        'presencePenalty',
        'seed',
        'jsonWithoutSchema',
        'jsonName',
        'strictJson',
      ],
      stopServer: () => server.stop(),
      close,
    }
  },
})
