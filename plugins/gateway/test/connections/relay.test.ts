import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { connect as connectTls, TLSSocket } from 'node:tls'
import { type Test, test } from 'tap'
import { relay } from '../../src/connections/relay.ts'
import { someCertificate } from '../fixtures/some-certificate.ts'

/** Two ends of a TCP connection. */
async function pair(t: Test): Promise<[near: Socket, far: Socket]> {
  const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const near = connect({ host: '127.0.0.1', port, allowHalfOpen: true })
  const [far] = (await once(server, 'connection')) as [Socket]
  server.close()
  t.teardown(() => {
    near.destroy()
    far.destroy()
  })
  return [near, far]
}

/** A client and a node with a relay in between. */
async function relayed(t: Test, idleMs = 60_000): Promise<{ client: Socket; node: Socket }> {
  const [client, one] = await pair(t)
  const [node, other] = await pair(t)
  relay(one, other, { idleMs, rate: null })
  return { client, node }
}

/** Resolves with how a connection ended: with an error's code, or properly. */
async function outcomeOf(socket: Socket): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  socket.on('error', ({ code }: NodeJS.ErrnoException) => resolve(code ?? ''))
  socket.once('end', () => resolve('end'))
  socket.resume()
  return promise
}

test('bytes and ends pass in both directions, each by itself', async (t) => {
  const { client, node } = await relayed(t)
  client.end('question')
  let asked = ''
  for await (const piece of node.iterator({ destroyOnReturn: false })) {
    asked += piece
    if (asked === 'question') break
  }
  await once(node.resume(), 'end')
  const outcome = outcomeOf(client)
  node.end(Buffer.alloc(2_000_000))
  t.equal(await outcome, 'end')
  t.equal(client.bytesRead, 2_000_000)
})

test('a reset on one side is a reset on the other one', async (t) => {
  for (const from of ['client', 'node'] as const) {
    const ends = await relayed(t)
    const to = from === 'client' ? ends.node : ends.client
    ends[from].write('begun')
    await once(to, 'data')
    const outcome = outcomeOf(to)
    ends[from].resetAndDestroy()
    t.equal(await outcome, 'ECONNRESET', `by the ${from}`)
  }
})

test('a side that does not read slows the other one down', async (t) => {
  const { client, node } = await relayed(t)
  node.pause()
  const piece = Buffer.alloc(1024 * 1024)
  let taken = 0
  // The buffers of the system take some; the relay takes no more than one piece.
  while (client.write(piece)) taken += 1
  while (
    await once(client, 'drain', { signal: AbortSignal.timeout(300) }).then(
      () => true,
      () => false,
    )
  ) {
    while (client.write(piece)) taken += 1
    taken += 1
    if (taken > 256) break
  }
  t.ok(taken <= 256, `${taken} MiB were taken`)
})

test('a connection without any byte for long is cut', async (t) => {
  const { client, node } = await relayed(t, 100)
  t.same(await Promise.all([outcomeOf(client), outcomeOf(node)]), ['ECONNRESET', 'ECONNRESET'])
})

test('a client of TLS that resets its connection at a bad moment does not keep it', async (t) => {
  const [client, one] = await pair(t)
  const [node, other] = await pair(t)
  const inner = new TLSSocket(one, { isServer: true, ...(await someCertificate()) })
  relay(inner, other, { idleMs: 60_000, rate: null, closingMs: 100 })
  const closed = new Promise((resolve) => inner.once('close', resolve))
  // Neither the connection nor its time limit keeps the process alive.
  const alive = setInterval(() => {}, 60_000)
  t.teardown(() => clearInterval(alive))
  node.on('error', () => {}).once('end', () => node.end('answer'))
  node.resume()
  const secure = connectTls({ socket: client, rejectUnauthorized: false }).on('error', () => {})
  await once(secure, 'secureConnect')
  // While the question is being read, Node takes the reset for a regular end, and then neither completes nor fails any write.
  inner.once('data', () => client.resetAndDestroy())
  secure.write('question')
  await closed
  t.ok(one.destroyed)
})
