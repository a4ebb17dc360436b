import { mock } from 'node:test'
import { loginConformance } from '@nodekeep/plugin-sdk/conformance/login'
import { test } from 'tap'
import { startCodeNode } from './fixtures/code-node.ts'

loginConformance(test, {
  singleUse: true,
  // A code is for another address of the node.
  boundToOrigin: false,
  async setUp() {
    const { node, provider, credentials } = await startCodeNode()
    const ada = await node.signIn()
    return {
      provider,
      origin: node.url,
      credentials: () => credentials(ada),
      async expired() {
        const old = await credentials(ada)
        mock.timers.enable({ apis: ['Date'], now: Date.now() + 301_000 })
        return old
      },
      async close() {
        mock.timers.reset()
        await node.stop()
      },
    }
  },
})
