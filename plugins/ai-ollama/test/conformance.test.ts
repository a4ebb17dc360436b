import { aiConformance } from '@nodekeep/plugin-sdk/conformance/ai'
import { test } from 'tap'
import { startChatNode } from './chat-node.ts'
import { models } from './ollama-server.ts'

aiConformance(test, {
  async setUp() {
    const { provider, server, close } = await startChatNode()
    return {
      provider,
      models,
      server,
      wireLacks: [
        'reasoningEffort',
        'content_filter',
        'toolChoice',
        'parallelToolCalls',
        'strictTools',
        'jsonName',
        'strictJson',
      ],
      stopServer: () => server.stop(),
      close,
    }
  },
})
