import { aiConformance } from '@nodekeep/plugin-sdk/conformance/ai'
import { test } from 'tap'
import { OpenAIProvider } from '../src/openai-provider.ts'
import { startOpenAIServer } from './openai-server.ts'

const key = 'sk-test-4f9a0c2b7e'

aiConformance(test, {
  async setUp() {
    const server = await startOpenAIServer(key)
    const provider = new OpenAIProvider({
      name: 'openai',
      section: 'ai-openai',
      endpoint: server.url,
      key,
      tokenLimitField: 'auto',
    })
    const stop = () => server.stop()
    return { provider, models: server.models, server, key, stopServer: stop, close: stop }
  },
})
