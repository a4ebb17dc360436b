import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createTestNode } from '@nodekeep/kernel/testing'
import { type AiProvider, AiProviders, definePlugin } from '@nodekeep/plugin-sdk'
import { aiConformance } from '@nodekeep/plugin-sdk/conformance/ai'
import aiAcme from '../src/index.ts'
import { acmeServer as server } from './acme-server.ts'

await server.start()

/** The provider from the registry, which a feature also reads when the node starts. */
let provider: AiProvider | undefined
const user = definePlugin({
  id: 'user-of-models',
  requires: { providers: AiProviders },
  setup({ providers, onStart }) {
    onStart(() => {
      provider = providers.get('acme')
    })
  },
})
const node = await createTestNode({ plugins: [aiAcme, user], config: { 'ai-acme': { url: server.url } } })
after(async () => {
  await node.stop()
  await server.stop()
})

aiConformance(test, {
  async setUp() {
    assert.ok(provider, 'The registry has no provider "acme".')
    await server.start()
    const { models } = server
    return { provider, models, server, stopServer: () => server.stop(), close: async () => {} }
  },
})
