import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setClock } from '@nodekeep/kernel/testing'
import { loginConformance } from '@nodekeep/plugin-sdk/conformance/login'
import { test } from 'tap'
import { startCodeNode } from './fixtures/code-node.ts'

loginConformance(test, {
  // A code is for another address of the node.
  boundToOrigin: false,
  async setUp() {
    const dataFolder = await mkdtemp(join(tmpdir(), 'nodekeep-code-'))
    let codes = await startCodeNode({ dataFolder })
    let ada = await codes.node.signIn('owner')
    const now = performance.now
    return {
      provider: codes.provider,
      origin: codes.node.url,
      credentials: () => codes.credentials(ada),
      async expire() {
        performance.now = () => now.call(performance) + 301_000
      },
      singleUse: {
        async guess({ token, ...rest }) {
          return { ...rest, token: `${token.slice(0, -1)}${token.endsWith('7') ? '8' : '7'}` }
        },
        async reopen() {
          await codes.node.stop()
          codes = await startCodeNode({ dataFolder })
          ada = await codes.node.signIn('owner')
          return codes.provider
        },
        entries: async () => (await Array.fromAsync(codes.state.entries())).length,
      },
      async close() {
        performance.now = now
        await codes.node.stop()
        await rm(dataFolder, { recursive: true, force: true })
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
