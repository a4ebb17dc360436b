import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { type Test, test } from 'tap'
import { OpenConnections } from '../../src/connections/open-connections.ts'

async function sockets(t: Test, count: number): Promise<Socket[]> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const accepted: Socket[] = []
  for (let at = 0; at < count; at += 1) {
    const client = connect({ host: '127.0.0.1', port }).on('error', () => {})
    t.teardown(() => client.destroy())
    const [socket] = (await once(server, 'connection')) as [Socket]
    accepted.push(socket.on('error', () => {}))
    t.teardown(() => socket.destroy())
  }
  server.close()
  return accepted
}

test('connections are counted in all, and for each address', async (t) => {
  const open = new OpenConnections({ inAll: 3, perAddress: 2 })
  const [a, b, c, d, e] = await sockets(t, 5)
  if (!a || !b || !c || !d || !e) return
  t.type(open.enter(a, '192.0.2.1'), 'function')
  const leave = open.enter(b, '192.0.2.1')
  t.equal(open.enter(c, '192.0.2.1'), null, 'too many of one address')
  t.type(open.enter(c, '2001:db8::1'), 'function')
  t.equal(open.enter(d, '192.0.2.2'), null, 'too many in all')
  leave?.()
  leave?.()
  t.type(open.enter(d, '2001:db8::2'), 'function', 'one place was free, and only one')
  t.equal(open.enter(e, '192.0.2.9'), null)
  a.destroy()
  await once(a, 'close')
  t.equal(open.enter(a, '192.0.2.9'), null, 'a closed connection does not count')
  t.equal(open.enter(e, '2001:db8::3'), null, 'a network of 64 bits is one address')
})

test('a drain waits for the connections, and then cuts those that are left', async (t) => {
  const open = new OpenConnections({ inAll: 10, perAddress: 10 })
  await open.drain(60_000)
  const [first, second] = await sockets(t, 2)
  if (!first || !second) return
  const leave = open.enter(first, '192.0.2.1')
  const drained = open.drain(60_000)
  leave?.()
  await drained
  t.equal(first.destroyed, false, 'it is not its own any more')

  open.enter(second, '192.0.2.1')
  await open.drain(10)
  t.equal(second.destroyed, true)
})
