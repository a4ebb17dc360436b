import { once } from 'node:events'
import { Agent } from 'node:http'
import { connect, type Socket } from 'node:net'
import { Worker } from 'node:worker_threads'
import { test } from 'tap'
import { ask } from './fixtures/http-client.ts'
import { streams } from './fixtures/streams.ts'
import { startGateway, startTunnelNode } from './fixtures/tunnel.ts'

const reachable = /^Clients reach the node at http:/

test('1,000 connections at once are all served', async (t) => {
  const limits = { connectionsPerAddress: 2000, connectionsPerNode: 2000 }
  const gateway = await startGateway(t, { gateway: { limits } })
  const node = await startTunnelNode(t, gateway, { plugins: [streams], tunnel: { maxConnections: 2000 } })
  await node.log.line(reachable)
  const sockets = Array.from({ length: 1000 }, () => connect({ host: '127.0.0.1', port: gateway.firstPort }))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
  })
  const answers = await Promise.all(
    sockets.map(async (socket, at) => {
      socket.write(`GET /streams/mirror?${at} HTTP/1.1\r\nhost: x${at}\r\n\r\n`)
      const [answer] = (await once(socket, 'data')) as [Buffer]
      return String(answer)
    }),
  )
  t.ok(answers.every((answer, at) => answer.startsWith('HTTP/1.1 200') && answer.includes(`"host":"x${at}"`)))
})

test('1,000 clients connect while the gateway is busy', async (t) => {
  const gateway = await startGateway(t)
  const node = await startTunnelNode(t, gateway)
  await node.log.line(reachable)
  const connected = new Int32Array(new SharedArrayBuffer(4))
  const crowd = new Worker(
    `const { connect } = require('node:net')
     const { workerData: { port, connected } } = require('node:worker_threads')
     for (let at = 0; at < 1000; at += 1)
       connect({ host: '127.0.0.1', port }, () => {
         if (Atomics.add(connected, 0, 1) === 999) Atomics.notify(connected, 0)
       }).on('error', () => {})`,
    { eval: true, workerData: { port: gateway.firstPort, connected } },
  )
  t.teardown(() => crowd.terminate())
  // The gateway runs in this thread, and accepts nobody while it waits.
  const end = performance.now() + 60_000
  for (let now = 0; now < 1000 && performance.now() < end; now = Atomics.load(connected, 0))
    Atomics.wait(connected, 0, now, 1000)
  t.equal(connected[0], 1000)
})

test('200 clients that never read hold nobody up', async (t) => {
  const gateway = await startGateway(t)
  const node = await startTunnelNode(t, gateway, { plugins: [streams] })
  await node.log.line(reachable)
  const before = process.memoryUsage().rss
  const readers: Socket[] = []
  t.teardown(() => {
    for (const socket of readers) socket.destroy()
  })
  for (let at = 0; at < 200; at += 1) {
    const socket = connect({ host: '127.0.0.1', port: gateway.firstPort })
    socket.pause()
    socket.write('GET /streams/down?bytes=1000000000 HTTP/1.1\r\nhost: x\r\n\r\n')
    readers.push(socket)
  }
  const agent = new Agent({ keepAlive: true })
  t.teardown(() => agent.destroy())
  for (let at = 0; at < 20; at += 1) {
    t.equal((await ask(gateway.firstPort, '/streams/mirror', { agent })).status, 200)
  }
  const grown = (process.memoryUsage().rss - before) / 1024 / 1024
  t.ok(grown < 400, `${grown.toFixed(0)} MiB more in gateway, node and clients together`)
})
