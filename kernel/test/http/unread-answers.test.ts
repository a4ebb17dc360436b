import { Duplex } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { createTestNode } from '@nodekeep/kernel/testing'
import { definePlugin } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { createHanding } from './fixtures/handing-plugin.ts'
import { rawRequest } from './fixtures/raw-connection.ts'

const open = { access: 'public', publicReason: 'It is there for a test.' } as const
const mebibyte = 1024 * 1024

const large = definePlugin({
  id: 'large',
  setup({ routes }) {
    routes((app) => {
      app.get('/large', { config: open }, async () => 'x'.repeat(mebibyte))
    })
  },
})

/** The connection of a client that never reads. */
class Client extends Duplex {
  /** Bytes that were sent. */
  unread = 0

  constructor() {
    super({ writableHighWaterMark: 1024 })
    this.push(rawRequest('GET', '/large', { host: 'node.test' }))
  }

  override _read(): void {}

  override _write(chunk: Buffer): void {
    this.unread += chunk.length
  }
}

test('answers that nobody reads are bounded, and connections without progress are closed', async (t) => {
  const handing = createHanding(t, 'Duplex')
  const node = await createTestNode({ plugins: [large, handing.plugin] })
  t.teardown(() => node.stop())
  const clients = Array.from({ length: 48 }, () => new Client())
  t.teardown(() => {
    for (const client of clients) client.destroy()
  })
  const serve = (client: Client, remoteAddress = '203.0.113.7') =>
    handing.serve({
      socket: client,
      remoteAddress,
      remotePort: 1,
      encrypted: false,
      serverName: null,
    })
  const answered = async (some: readonly Client[]) => {
    while (some.some(({ unread, destroyed }) => unread < mebibyte && !destroyed)) await delay(5)
  }
  const slow = new Client()
  t.teardown(() => slow.destroy())
  serve(slow, '198.51.100.1')
  const few = clients.slice(0, 24)
  for (const client of few) serve(client)
  await answered(few)
  t.ok(
    few.every(({ destroyed }) => !destroyed),
    'a few answers may wait',
  )

  const others = clients.slice(24)
  for (const client of others) serve(client)
  await answered(others)
  const waiting = () => clients.filter(({ destroyed }) => !destroyed)
  while (waiting().length > 31) await delay(5)
  t.ok(waiting().length >= 30, 'no more are closed than have to be')
  t.notOk(slow.destroyed, 'a flood does not close the connection of another client')
  t.ok(
    others.every(({ destroyed }) => !destroyed),
    'those who wait for the longest time are closed',
  )
  t.equal((await node.fetch('/large')).status, 200, 'the node serves others')
})
