import { EventEmitter, once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net'
import { addressStatement, type GatewayMessage } from '@nodekeep/plugin-sdk/tunnel'
import { type Test, test } from 'tap'
import { ReachabilityChecks } from '../../src/reachability/reachability-checks.ts'
import type { NodeSession } from '../../src/tunnels/node-session.ts'
import { createSigningNode } from '../registration/fixtures/signing-node.ts'

const usual = {
  isReachable: true,
  answeredAt: Number.NEGATIVE_INFINITY,
  times: { reachableMs: 50, unreachableMs: 10, earlyMs: 50 },
}

/** A node behind one address. By default, it is checked every 50 milliseconds while it is idle. */
async function watched(t: Test, options: Partial<typeof usual> = {}) {
  const { isReachable, answeredAt, times } = { ...usual, ...options }
  const { nodeId, sign } = createSigningNode()
  const server = createServer(({ url = '', headers }, response) => {
    const signature = sign(addressStatement(url.split('/').at(-1) ?? '', headers.host ?? ''))
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
  const address = { isReachable, told, checks: 0, checked: Promise.withResolvers<void>(), clientEvents, url }
  const checks = new ReachabilityChecks({
    ...times,
    async dial() {
      address.checks += 1
      address.checked.resolve()
      address.checked = Promise.withResolvers()
      if (!address.isReachable) throw new Error('Nobody listens.')
      return connect({ host: '127.0.0.1', port })
    },
  })
  t.teardown(() => checks.forget(session))
  // The pauses between checks keep no process alive.
  const alive = setInterval(() => {}, 60_000)
  t.teardown(() => clearInterval(alive))
  checks.watch(session, [url])
  return address
}

test('an address is checked again and again, and an answer to a client counts as a check', async (t) => {
  const idle = await watched(t)
  const used = await watched(t, { answeredAt: performance.now() + 3_600_000 })
  while (idle.checks < 4) await idle.checked.promise
  t.match(idle.told, [{ type: 'reachability', reachable: true, reason: null }])
  t.equal(idle.told.length, 1, 'only a change is told')
  t.equal(used.checks, 1)
})

test('a node learns when an address becomes reachable or unreachable', async (t) => {
  const address = await watched(t, { isReachable: false })
  while (address.checks < 3) await address.checked.promise
  t.match(address.told, [{ reachable: false, reason: 'Nobody listens.' }])
  address.isReachable = true
  while (address.told.length < 2) await address.checked.promise
  t.match(address.told, [{ reachable: false }, { reachable: true, reason: null }])
  address.isReachable = false
  while (address.told.length < 3) await address.checked.promise
  t.match(address.told, [{ reachable: false }, { reachable: true }, { reachable: false }])
})

test('clients that wait in vain at a reachable address, or get an answer at an unreachable one, bring its check forward', async (t) => {
  const hourMs = 3_600_000
  const times = { reachableMs: hourMs, unreachableMs: hourMs, earlyMs: 50 }
  const address = await watched(t, { answeredAt: performance.now() + hourMs, times })
  const begun: number[] = []
  /** Lets clients have news without end, until the next check begins. */
  const nextCheck = async (event: 'answered' | 'unanswered', url: string) => {
    const checked = address.checked.promise
    const clients = setInterval(() => address.clientEvents.emit(event, url), 1)
    await checked
    clearInterval(clients)
    begun.push(performance.now())
  }
  const toldOf = async (count: number) => {
    while (address.told.length < count) await new Promise(setImmediate)
  }
  await toldOf(1)
  await nextCheck('unanswered', 'http://another-address-of-the-node')
  address.isReachable = false
  await nextCheck('unanswered', address.url)
  await toldOf(2)
  address.isReachable = true
  await nextCheck('answered', address.url)
  await toldOf(3)
  t.match(address.told, [
    { reachable: true },
    { reachable: false, reason: 'Nobody listens.' },
    { reachable: true },
  ])
  await nextCheck('unanswered', address.url)
  const pauses = begun.slice(1).map((at, index) => at - (begun[index] ?? 0))
  t.ok(Math.min(...pauses) >= 45, `strangers do not keep the gateway busy: pauses of ${pauses.join(', ')} ms`)
})

test('a node that changes the protocol in its answers holds no checks up', async (t) => {
  const server = createTcpServer((socket) => {
    socket.on('error', () => {})
    socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n')
  }).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const checks = new ReachabilityChecks({
    dial: async () => connect({ host: '127.0.0.1', port }).on('error', () => {}),
  })
  const reasons: (string | null)[] = []
  const all = Promise.withResolvers<void>()
  const session = {
    process: { nodeId: '', addressGroup: '192.0.2.1' },
    answeredAt: new Map(),
    clientEvents: new EventEmitter().setMaxListeners(0),
    send(message: GatewayMessage) {
      if (message.type === 'reachability') reasons.push(message.reason)
      if (reasons.length === 20) all.resolve()
    },
  } as unknown as NodeSession
  t.teardown(() => checks.forget(session))
  const urls = Array.from({ length: 20 }, (_, at) => `http://127.0.0.1:${at + 1}`)
  checks.watch(session, urls)
  await all.promise
  t.same(new Set(reasons), new Set(['The answer has the status 101.']))
})

test('nodes that let checks run out of time do not hold up the nodes of other addresses', async (t) => {
  let stalled = 0
  const told = Promise.withResolvers<GatewayMessage>()
  const checks = new ReachabilityChecks({
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
    for (const session of [stalling, other]) checks.forget(session)
  })
  checks.watch(
    stalling,
    Array.from({ length: 100 }, (_, at) => `http://stalling:${at}`),
  )
  checks.watch(other, ['http://other'])
  t.match(await told.promise, { url: 'http://other', reachable: false })
  t.equal(stalled, 0, 'no check has run out of time yet')
})
