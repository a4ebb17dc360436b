import { setTimeout as delay } from 'node:timers/promises'
import { createTestNode, setClock } from '@nodekeep/kernel/testing'
import { test } from 'tap'
import attentionWebhook from '../src/index.ts'
import { full, testDisk, well } from './fixtures/disk.ts'
import { secret, startHookServer } from './fixtures/hook-server.ts'

test('a clock that jumps neither tells things again nor stops the messages', async (t) => {
  const [hooks, disk] = [await startHookServer(t), testDisk()]
  const node = await createTestNode({
    plugins: [disk.plugin, attentionWebhook],
    config: { 'attention-webhook': { url: hooks.url, secret, checkSeconds: 1 } },
  })
  t.teardown(() => node.stop())
  t.teardown(() => setClock(null))
  const namesIn = (position: number) => hooks.requests[position]?.told.data.attention.map(({ name }) => name)
  disk.finding = full
  await hooks.until(1)
  t.strictSame(namesIn(0), ['disk'])
  setClock(new Date(Date.now() + 2 * 86_400_000))
  await hooks.until(2)
  t.strictSame(namesIn(1), ['clock', 'disk'])
  setClock(null)
  disk.finding = well
  while (hooks.requests.at(-1)?.told.type !== 'node.well') await delay(50)
  t.ok(hooks.requests.length <= 4, `${hooks.requests.length} messages`)
})
