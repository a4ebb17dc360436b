// In a process of its own: it replaces the timers of the process.
import { once } from 'node:events'
import { connect as connectTcp } from 'node:net'
import { mock } from 'node:test'
import { test } from 'tap'
import { helloMs } from '../../../src/protocol/messages.ts'
import { begin, connect } from '../../fixtures/sync-client.ts'
import { createSyncNode } from '../../fixtures/sync-node.ts'

const checkMs = 30_000

test('a client that does not answer pings is cut off', async (t) => {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  const node = await createSyncNode()
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const alive = await connect(t, node, ada)
  await begin(alive)

  const dead = connectTcp(Number(node.url.port), node.url.hostname)
  t.teardown(() => dead.destroy())
  dead.write(
    [
      'GET /api/sync HTTP/1.1',
      'host: localhost',
      'connection: Upgrade',
      'upgrade: websocket',
      'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==',
      'sec-websocket-version: 13',
      `authorization: Bearer ${ada.token}`,
      '\r\n',
    ].join('\r\n'),
  )
  const [handshake] = await once(dead, 'data')
  t.match(String(handshake), /^HTTP\/1.1 101/)
  // A frame of a client has a mask, here one without effect. Without a hello, the connection would end for another reason.
  const hello = Buffer.from('{"type":"hello","protocol":1}')
  dead.write(Buffer.concat([Buffer.from([0x81, 0x80 | hello.length, 0, 0, 0, 0]), hello]))
  for await (const data of dead.iterator({ destroyOnReturn: false }))
    if (String(data).includes('"reset"')) break
  mock.timers.tick(checkMs)
  const [ping] = await once(dead, 'data')
  t.equal(ping[0], 0x89, 'the opcode of a ping')
  alive.say({ type: 'ping' })
  await alive.next('pong')
  mock.timers.tick(checkMs)
  await once(dead, 'close')
  alive.say({ type: 'ping' })
  await alive.next('pong')
})

test('a client that does not say hello is told so, and closed', async (t) => {
  const node = await createSyncNode()
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const silent = await connect(t, node, ada)
  const greeted = await connect(t, node, ada)
  greeted.say({ type: 'hello', protocol: 1 })
  await greeted.next('welcome')
  mock.timers.tick(helloMs)
  t.match((await silent.next('error')).error, { code: 'REQUEST_TIMEOUT', message: /within 10 seconds/ })
  t.match(await silent.closed, { code: 1008 })
  await greeted.next('reset')
  greeted.say({ type: 'ping' })
  await greeted.next('pong')
  mock.timers.reset()
})
