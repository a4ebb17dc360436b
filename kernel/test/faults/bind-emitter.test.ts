import { AsyncLocalStorage } from 'node:async_hooks'
import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { createTestNode } from '@nodekeep/kernel/testing'
import { definePlugin } from '@nodekeep/plugin-sdk'
import { test } from 'tap'

test("a plugin's own AsyncLocalStorage keeps its value while the plugin reads a body", async (t) => {
  const own = new AsyncLocalStorage<string>()
  const seen: unknown[] = []
  const reader = definePlugin({
    id: 'reader',
    setup({ routes }) {
      routes((app) => {
        app.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
        const config = { access: 'public', publicReason: 'A test.', body: 'stream' } as const
        app.post('/read', { config }, async ({ raw }) => {
          // The body has arrived. The stream emits it as soon as it has a listener.
          await wait(50)
          await own.run('mine', async () => {
            raw.on('data', () => seen.push(own.getStore()))
            await once(raw, 'end')
            seen.push(own.getStore())
          })
          return 'read'
        })
      })
    },
  })
  const node = await createTestNode({ plugins: [reader] })
  t.teardown(() => node.stop())
  const answer = await node.fetch('/read', { method: 'POST', body: new Uint8Array([1, 2, 3]) })
  t.equal(answer.status, 200)
  t.strictSame(seen, ['mine', 'mine'])
})
