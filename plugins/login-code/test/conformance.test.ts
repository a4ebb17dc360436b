import { setClock } from '@nodekeep/kernel/testing'
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
    const now = performance.now
    return {
      provider,
      origin: node.url,
      credentials: () => credentials(ada),
      async expired() {
        const old = await credentials(ada)
        performance.now = () => now.call(performance) + 301_000
        return old
      },
      async close() {
        performance.now = now
        await node.stop()
      },
    }
  },
})

test('a code lives for as long, however the clock is set', async (t) => {
  const { node, credentials, post } = await startCodeNode()
  t.after(() => node.stop())
  const now = performance.now
  t.teardown(() => {
    setClock(null)
    performance.now = now
  })
  const ada = await node.signIn()
  const [first, second] = [await credentials(ada), await credentials(ada)]
  setClock(new Date(Date.now() + 86_400_000))
  t.equal((await post('/auth/code', first)).status, 200)
  setClock(new Date(0))
  performance.now = () => now.call(performance) + 301_000
  t.equal((await post('/auth/code', second)).status, 401)
})
