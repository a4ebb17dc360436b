import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { tunnelTls, tunnelVersion } from '@nodekeep/plugin-sdk/tunnel'
import { type Test, test } from 'tap'
import { connectToGateway, type GatewayRoute } from '../src/connect-to-gateway.ts'
import { startIdentityNode } from './fixtures/identity-node.ts'
import { ScriptedGateway } from './fixtures/scripted-gateway.ts'

const line = {
  purpose: 'control',
  version: tunnelVersion,
  instance: 'a'.repeat(32),
  endsTls: true,
  host: '127.0.0.1',
} as const

/** A gateway behind a proxy that gets each connection, and the way to it. */
async function behindProxy(t: Test, take: (near: Socket, gatewayPort: number) => void) {
  const lender = await startIdentityNode()
  const gateway = await ScriptedGateway.start(lender.identity)
  const open = new Set<Socket>()
  const proxy: Server = createServer({ allowHalfOpen: true }, (near) => {
    near.on('error', () => {})
    open.add(near)
    near.once('close', () => open.delete(near))
    take(near, gateway.port)
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  t.teardown(async () => {
    for (const socket of open) socket.destroy()
    proxy.close()
    gateway.close()
    await lender.node.stop()
  })
  const { port } = proxy.address() as { port: number }
  const route: GatewayRoute = {
    address: { host: '127.0.0.1', port },
    tls: await tunnelTls(lender.identity),
    checkId: String,
  }
  return { gateway, route }
}

function forward(near: Socket, port: number): void {
  const far = connect({ host: '127.0.0.1', port }).on('error', () => {})
  near.pipe(far).pipe(near)
  far.once('close', () => near.destroy())
}

test('a proxy that closes connections before the handshake counts as nothing that answers', async (t) => {
  const ways: readonly [how: string, way: (near: Socket) => void][] = [
    ['reset', (near) => near.resetAndDestroy()],
    ['end', (near) => near.end()],
    ['end after the first bytes', (near) => near.once('data', () => near.end())],
  ]
  for (const [how, way] of ways) {
    const { route } = await behindProxy(t, way)
    const connecting = connectToGateway(route, line, new AbortController().signal)
    await t.rejects(connecting, { name: 'GatewayUnreachable' }, how)
  }
  const { route } = await behindProxy(t, (near) => near.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
  const connecting = connectToGateway(route, line, new AbortController().signal)
  await t.rejects(connecting, { name: 'Error', message: /^no gateway takes nodes there/ })
})

test('a connection that nobody answers does not keep the node from a gateway that is back', async (t) => {
  const lost: Socket[] = []
  const { gateway, route } = await behindProxy(t, (near, port) => {
    // The first one is lost for good, and so is what it sends.
    if (lost.length > 0) return forward(near, port)
    lost.push(near.resume())
    near.once('end', () => near.end())
  })
  const connected = await connectToGateway(route, line, new AbortController().signal)
  t.teardown(() => connected.socket.destroy())
  t.equal(connected.gatewayId, gateway.identity.nodeId)
  t.equal((await gateway.control(1)).nodeId, gateway.identity.nodeId)
  if (lost[0]?.closed === false) await once(lost[0], 'close')
  t.pass('the first connection is given up')
})

test('a slow gateway gets one connection of the node, at its place in the queue', async (t) => {
  const waiting: Socket[] = []
  const { gateway, route } = await behindProxy(t, (near, port) => {
    const [first] = waiting
    waiting.push(near)
    if (first === undefined) return
    near.resume().once('end', () => near.end())
    // The gateway takes the first connection when others wait behind it.
    if (waiting.length === 3) forward(first, port)
  })
  const { socket } = await connectToGateway(route, line, new AbortController().signal)
  t.teardown(() => socket.destroy())
  await gateway.control(1)
  const others = waiting.slice(1).filter(({ closed }) => !closed)
  await Promise.all(others.map((other) => once(other, 'close')))
  t.equal(waiting[0]?.closed, false, 'the first connection is the one that stays')
})

test('the end of the node ends its attempts', async (t) => {
  const taken = Promise.withResolvers<Socket>()
  const { route } = await behindProxy(t, (near) => {
    near.resume().once('end', () => near.end())
    taken.resolve(near)
  })
  const leaving = new AbortController()
  const connecting = connectToGateway(route, line, leaving.signal)
  const near = await taken.promise
  const closed = once(near, 'close')
  leaving.abort(new Error('The node leaves.'))
  await t.rejects(connecting, { message: 'The node leaves.' })
  await closed
})
