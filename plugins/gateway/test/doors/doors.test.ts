import { EventEmitter, once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net'
import { doorStatement, type GatewayMessage } from '@nodekeep/plugin-sdk/tunnel'
import { type Test, test } from 'tap'
import { Doors } from '../../src/doors/doors.ts'
import type { NodeSession } from '../../src/tunnels/node-session.ts'
import { createSigningNode } from '../registration/fixtures/signing-node.ts'

const usual = {
  isOpen: true,
  answeredAt: Number.NEGATIVE_INFINITY,
  times: { openMs: 50, closedMs: 10, earlyMs: 50 },
}

/** A node behind one address. By default, its door is tested every 50 milliseconds while it is idle. */
async function watched(t: Test, options: Partial<typeof usual> = {}) {
  const { isOpen, answeredAt, times } = { ...usual, ...options }
  const { nodeId, sign } = createSigningNode()
  const server = createServer(({ url = '', headers }, response) => {
    const signature = sign(doorStatement(url.split('/').at(-1) ?? '', headers.host ?? ''))
    response.end(JSON.stringify({ signature: Buffer.from(signature).toString('base64url') }))
  }).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  const told: GatewayMessage[] = []
  const clientEvents: NodeSession['clientEvents'] = new EventEmitter()
  const session = {
    process: { nodeId, addressGroup: '127.0.0.1' },
    answeredAt: new Map([[url, answeredAt]]),
    clientEvents,
    send: (message: GatewayMessage) => void told.push(message),
  } as unknown as NodeSession
  const door = { isOpen, told, tests: 0, tested: Promise.withResolvers<void>(), clientEvents, url }
  const doors = new Doors({
    ...times,
    async dial() {
      door.tests += 1
      door.tested.resolve()
      door.tested = Promise.withResolvers()
      if (!door.isOpen) throw new Error('Nobody listens.')
      return connect({ host: '127.0.0.1', port })
    },
  })
  t.teardown(() => doors.forget(session))
  // The pauses of doors keep no process alive.
  const alive = setInterval(() => {}, 60_000)
  t.teardown(() => clearInterval(alive))
  doors.watch(session, [url])
  return door
}

test('a door is tested again and again, and an answer to a client counts as a test', async (t) => {
  const idle = await watched(t)
  const used = await watched(t, { answeredAt: performance.now() + 3_600_000 })
  while (idle.tests < 4) await idle.tested.promise
  t.match(idle.told, [{ type: 'door', open: true, reason: null }])
  t.equal(idle.told.length, 1, 'only a change is told')
  t.equal(used.tests, 1)
})

test('a door that closes or opens is told', async (t) => {
  const door = await watched(t, { isOpen: false })
  while (door.tests < 3) await door.tested.promise
  t.match(door.told, [{ open: false, reason: 'Nobody listens.' }])
  door.isOpen = true
  while (door.told.length < 2) await door.tested.promise
  t.match(door.told, [{ open: false }, { open: true, reason: null }])
  door.isOpen = false
  while (door.told.length < 3) await door.tested.promise
  t.match(door.told, [{ open: false }, { open: true }, { open: false }])
})

test('clients that wait in vain for an open door, or get through a closed one, bring its test forward', async (t) => {
  const hourMs = 3_600_000
  const times = { openMs: hourMs, closedMs: hourMs, earlyMs: 50 }
  const door = await watched(t, { answeredAt: performance.now() + hourMs, times })
  const begun: number[] = []
  /** Lets clients have news without end, until the next test begins. */
  const nextTest = async (event: 'answered' | 'unanswered', url: string) => {
    const tested = door.tested.promise
    const clients = setInterval(() => door.clientEvents.emit(event, url), 1)
    await tested
    clearInterval(clients)
    begun.push(performance.now())
  }
  const toldOf = async (count: number) => {
    while (door.told.length < count) await new Promise(setImmediate)
  }
  await toldOf(1)
  await nextTest('unanswered', 'http://another-address-of-the-node')
  door.isOpen = false
  await nextTest('unanswered', door.url)
  await toldOf(2)
  door.isOpen = true
  await nextTest('answered', door.url)
  await toldOf(3)
  t.match(door.told, [{ open: true }, { open: false, reason: 'Nobody listens.' }, { open: true }])
  await nextTest('unanswered', door.url)
  const pauses = begun.slice(1).map((at, index) => at - (begun[index] ?? 0))
  t.ok(Math.min(...pauses) >= 45, `strangers do not keep the gateway busy: pauses of ${pauses.join(', ')} ms`)
})

test('a node that changes the protocol in its answers holds no tests up', async (t) => {
  const server = createTcpServer((socket) => {
    socket.on('error', () => {})
    socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n')
  }).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const doors = new Doors({ dial: async () => connect({ host: '127.0.0.1', port }).on('error', () => {}) })
  const reasons: (string | null)[] = []
  const all = Promise.withResolvers<void>()
  const session = {
    process: { nodeId: '', addressGroup: '192.0.2.1' },
    answeredAt: new Map(),
    clientEvents: new EventEmitter().setMaxListeners(0),
    send(message: GatewayMessage) {
      if (message.type === 'door') reasons.push(message.reason)
      if (reasons.length === 20) all.resolve()
    },
  } as unknown as NodeSession
  t.teardown(() => doors.forget(session))
  const urls = Array.from({ length: 20 }, (_, at) => `http://127.0.0.1:${at + 1}`)
  doors.watch(session, urls)
  await all.promise
  t.same(new Set(reasons), new Set(['The answer has the status 101.']))
})

test('nodes that let tests run out of time do not hold up the nodes of other addresses', async (t) => {
  let stalled = 0
  const told = Promise.withResolvers<GatewayMessage>()
  const doors = new Doors({
    async dial(url, signal) {
      if (url === 'http://other') throw new Error('Nobody listens.')
      await once(signal, 'abort')
      stalled += 1
      throw signal.reason
    },
  })
  const sessionAt = (addressGroup: string) =>
    ({
      process: { nodeId: '', addressGroup },
      answeredAt: new Map(),
      clientEvents: new EventEmitter().setMaxListeners(0),
      send: told.resolve,
    }) as unknown as NodeSession
  const [stalling, other] = [sessionAt('192.0.2.1'), sessionAt('192.0.2.2')]
  const alive = setInterval(() => {}, 60_000)
  t.teardown(() => {
    clearInterval(alive)
    for (const session of [stalling, other]) doors.forget(session)
  })
  doors.watch(
    stalling,
    Array.from({ length: 100 }, (_, at) => `http://stalling:${at}`),
  )
  doors.watch(other, ['http://other'])
  t.match(await told.promise, { url: 'http://other', open: false })
  t.equal(stalled, 0, 'no test has run out of time yet')
})
