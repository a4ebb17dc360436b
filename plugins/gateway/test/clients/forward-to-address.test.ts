import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { type Test, test } from 'tap'
import { forwardToAddress } from '../../src/clients/forward-to-address.ts'
import { AddressRates } from '../../src/connections/address-rates.ts'
import { OpenConnections } from '../../src/connections/open-connections.ts'

/** Starts a server that forwards each of its clients to a node. The node sends every client the same number of bytes. */
async function startLeading(t: Test, bytes: number, perAddress: number) {
  const node = createServer((socket) => void socket.on('error', () => {}).end(Buffer.alloc(bytes)))
  node.listen(0, '127.0.0.1')
  await once(node, 'listening')
  const to = { address: '127.0.0.1', port: (node.address() as AddressInfo).port }
  const limits = {
    open: new OpenConnections({ inAll: 10, perAddress }),
    rates: new AddressRates(1_000_000),
    connectMs: 1000,
    idleMs: 1000,
  }
  const refusals: string[] = []
  const gateway = createServer({ allowHalfOpen: true }, async (socket) => {
    const refusal = await forwardToAddress(socket, to, limits)
    if (refusal === null) return
    refusals.push(refusal)
    socket.destroy()
  })
  gateway.listen(0, '127.0.0.1')
  await once(gateway, 'listening')
  t.teardown(() => {
    gateway.close()
    node.close()
  })
  return { refusals, open: () => connect((gateway.address() as AddressInfo).port, '127.0.0.1') }
}

async function bytesOf(socket: Socket): Promise<number> {
  let bytes = 0
  for await (const piece of socket) bytes += piece.length
  return bytes
}

test('all connections to an address keep to a rate together, also those that come later', async (t) => {
  const { open } = await startLeading(t, 1_000_000, 10)
  const began = performance.now()
  t.same(await Promise.all([bytesOf(open()), bytesOf(open())]), [1_000_000, 1_000_000])
  t.equal(await bytesOf(open()), 1_000_000)
  const seconds = (performance.now() - began) / 1000
  // One second of the rate may pass at once.
  t.ok(seconds > 1.8, `3 MB took ${seconds.toFixed(1)} s`)
})

test('an address has a limited number of connections', async (t) => {
  const { open, refusals } = await startLeading(t, 100_000_000, 2)
  const sockets = [open().pause(), open().pause()]
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))
  t.equal(await bytesOf(open()), 0)
  t.same(refusals, ['busy'])
  for (const socket of sockets) socket.destroy()
})
