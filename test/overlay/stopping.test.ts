import { once } from 'node:events'
import { Agent, get, type IncomingMessage } from 'node:http'
import { test } from 'tap'
import { ask } from './fixtures/http-client.ts'
import { newProcess, rawNode } from './fixtures/raw-node.ts'
import { streams } from './fixtures/streams.ts'
import { startGateway, startTunnelNode } from './fixtures/tunnel.ts'

const reachable = /^Clients reach the node/

/** Begins a download, and returns a function that reads it to its end. */
async function beginDownload(port: number, bytes: number) {
  const asking = get({ host: '127.0.0.1', port, path: `/streams/down?bytes=${bytes}`, agent: false })
  asking.on('error', () => {})
  const [response] = (await once(asking, 'response')) as [IncomingMessage]
  response.pause()
  return async () => {
    let got = 0
    for await (const piece of response) got += piece.length
    return got
  }
}

test('a gateway that stops lets clients finish, and tells its nodes', async (t) => {
  const gateway = await startGateway(t)
  const node = await startTunnelNode(t, gateway, { plugins: [streams] })
  await node.log.line(reachable)
  const bytes = 30_000_000
  const finish = await beginDownload(gateway.firstPort, bytes)

  const mark = node.log.mark
  const stopped = gateway.node.stop()
  await node.log.line(/^The gateway stops/, mark)
  t.match(await node.status(), { connected: false })
  await t.rejects(ask(gateway.firstPort, '/health'), { code: 'ECONNREFUSED' }, 'it takes no new clients')
  t.equal(await finish(), bytes, 'the download is whole')
  await stopped
})

test('a gateway that has stopped takes no node in whose handshake was on its way', async (t) => {
  const gateway = await startGateway(t, { gateway: { ports: { host: '127.0.0.1', range: '' } } })
  const late = Promise.withResolvers<void>()
  const node = (await rawNode(t, gateway.controlPort)).open(newProcess(), late.promise)
  await node.begun
  await gateway.node.stop()
  late.resolve()
  t.equal(await node.end, '', 'the connection is closed')
})

test('a gateway that stops cuts clients that do not finish in time', async (t) => {
  const gateway = await startGateway(t, { gateway: { drainSeconds: 0.2 } })
  const node = await startTunnelNode(t, gateway, { plugins: [streams] })
  await node.log.line(reachable)
  const finish = await beginDownload(gateway.firstPort, 1_000_000_000)
  const stopped = gateway.node.stop()
  await t.rejects(finish(), { code: 'ECONNRESET' })
  await stopped
})

test('a node that stops tells the gateway, and lets its clients finish', async (t) => {
  const gateway = await startGateway(t)
  const node = await startTunnelNode(t, gateway, { plugins: [streams] })
  await node.log.line(reachable)
  const bytes = 30_000_000
  const finish = await beginDownload(gateway.firstPort, bytes)
  const stopped = node.node.stop()
  const answer = await ask(gateway.firstPort, '/health', { agent: new Agent() })
  t.equal(answer.status, 503, 'the gateway answers for the node')
  t.equal(answer.headers['retry-after'], '10')
  t.equal(await finish(), bytes, 'the download is whole')
  await stopped
  t.notOk(gateway.log.messages('info').some((line) => line.startsWith('The node was lost')))
})

test('a plugin that is switched off leaves the network, and joins when it is switched on', async (t) => {
  const gateway = await startGateway(t)
  const node = await startTunnelNode(t, gateway, {
    plugins: [streams],
    config: { plugins: { 'overlay-tunnel': { required: false }, overlay: { required: false } } },
  })
  await node.log.line(reachable)
  const owner = await node.node.signIn('owner')
  const mark = node.log.mark
  t.equal((await owner.fetch('/api/system/plugins/overlay-tunnel/disable', { method: 'POST' })).status, 200)
  t.match(await node.status(), { connected: false, proxyEnabled: false, allocatedPort: 0 })
  t.equal((await ask(gateway.firstPort, '/health')).status, 503)
  t.equal((await owner.fetch('/api/system/plugins/overlay-tunnel/enable', { method: 'POST' })).status, 200)
  await node.log.line(reachable, mark)
  t.match(await node.status(), { connected: true, allocatedPort: gateway.firstPort })
})
