// In a process of its own: it starts, stops and kills processes, and waits for their time limits.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'tap'
import { openLine } from './fixtures/bad-line.ts'
import { checkPauses } from './fixtures/check-pauses.ts'
import { ask } from './fixtures/http-client.ts'
import { askHttps, certificateFile } from './fixtures/https-client.ts'
import { knownNode } from './fixtures/known-node.ts'
import { startProcess } from './fixtures/processes.ts'
import { streams } from './fixtures/streams.ts'
import { startGateway, startTunnelNode } from './fixtures/tunnel.ts'

const reachable = /^Clients reach the node at http:/
const named = /^Clients reach the node at https:/
const tls = { cert: certificateFile('gateway', 'crt'), key: certificateFile('gateway', 'key') }

/** Resolves with the bytes of a connection when it has ended or was cut. */
async function endOf(socket: Socket): Promise<string> {
  let text = ''
  socket.on('data', (piece) => {
    text += piece
  })
  await new Promise((resolve) => socket.once('close', resolve))
  return text
}

async function statusOf(port: number): Promise<number> {
  return (await ask(port, '/health')).status
}

test('losses', { jobs: 8 }, async (t) => {
  t.test('a gateway that is killed comes back with the same port and name of the node', async (t) => {
    const me = await knownNode(t)
    const gateway = await startGateway(t, { gateway: { domain: 'example.test' } })
    await gateway.node.stop()
    const { controlPort, firstPort, httpsPort } = gateway
    const host = '127.0.0.1'
    const config = {
      gateway: {
        domain: 'example.test',
        names: { me: me.nodeId },
        control: { host, port: controlPort },
        http: { enabled: false },
        https: { host, port: httpsPort },
        tls,
        ports: { host, range: `${firstPort}-${firstPort + 11}` },
      },
    }
    const dataFolder = t.testdir({})
    const first = await startProcess(t, 'gateway', dataFolder, config)
    const name = `me.example.test:${httpsPort}`
    const node = await startTunnelNode(t, gateway, { ...me, tunnel: { name } })
    await Promise.all([node.log.line(reachable), node.log.line(named)])
    const { allocatedPort } = await node.status()

    const mark = node.log.mark
    await first.end('SIGKILL')
    await node.log.line(/^The connection to the gateway has ended/, mark)
    t.match(await node.status(), { connected: false, allocatedPort: 0, proxyEnabled: true })

    await startProcess(t, 'gateway', dataFolder, config)
    await Promise.all([node.log.line(reachable, mark), node.log.line(named, mark)])
    checkPauses(t, node.log, mark)
    t.match(await node.status(), { connected: true, allocatedPort })
    t.equal(await statusOf(allocatedPort), 200)
    const asked = { port: httpsPort, name: 'me.example.test', of: 'gateway', path: '/health' } as const
    t.equal((await askHttps(asked)).status, 200)
  })

  t.test('both sides notice a loss that no packet tells of, and the node comes back', async (t) => {
    const gateway = await startGateway(t)
    const line = await openLine(t, gateway.controlPort)
    const node = await startTunnelNode(t, { controlPort: line.port }, { plugins: [streams] })
    await node.log.line(reachable)
    const port = gateway.firstPort
    t.equal(await statusOf(port), 200)

    const client = connect({ host: '127.0.0.1', port }).on('error', () => {})
    client.write('GET /streams/down?bytes=1000000000 HTTP/1.1\r\nhost: x\r\n\r\n')
    await once(client, 'readable')
    const ended = endOf(client)
    const marks = { node: node.log.mark, gateway: gateway.log.mark }
    line.lose()
    await Promise.all([
      node.log.line(/silent for 9 s/, marks.node),
      gateway.log.line(/^The node was lost.*silent for 9 s/, marks.gateway),
    ])
    const [answer, isDropped] = await Promise.all([
      ended,
      node.log.line(/^A download ended early/, marks.node),
    ])
    t.match(answer, /^HTTP\/1.1 200/, 'the connection of a client ends with the loss')
    t.ok(isDropped, 'on both sides')
    t.match(await node.status(), { connected: false, allocatedPort: 0 })
    t.equal(await statusOf(port), 503)

    const mark = node.log.mark
    line.restore()
    await node.log.line(reachable, mark)
    checkPauses(t, node.log, marks.node)
    t.match(await node.status(), { connected: true, allocatedPort: port })
    t.equal(await statusOf(port), 200)
  })

  t.test('a node whose new connections hang is not connected until clients get through', async (t) => {
    // A client waits for longer than the gateway takes to find out.
    const gateway = await startGateway(t, { gateway: { limits: { helloSeconds: 30 } } })
    const line = await openLine(t, gateway.controlPort)
    const node = await startTunnelNode(t, { controlPort: line.port })
    await node.log.line(reachable)
    const mark = node.log.mark
    line.state.newcomers = 'stranded'
    let answered = 0
    // The first client takes the connection that waits already.
    const asking = [1, 2].map(async () => {
      const status = await statusOf(gateway.firstPort)
      answered += 1
      return status
    })
    await node.log.line(/^Clients do not reach the node at http:.*in time/, mark)
    t.ok(answered < 2, 'a client waits still')
    t.match(await node.status(), { connected: false, allocatedPort: gateway.firstPort })
    t.notOk(node.log.has(/^The connection to the gateway/, mark))

    line.state.newcomers = 'carried'
    t.same(await Promise.all(asking), [200, 200])
    await node.log.line(reachable, mark)
    t.match(await node.status(), { connected: true })
  })

  for (const fate of ['stranded', 'cut'] as const) {
    t.test(`the node comes back behind a proxy by which new connections are ${fate}`, async (t) => {
      const gateway = await startGateway(t)
      const line = await openLine(t, gateway.controlPort)
      const node = await startTunnelNode(t, { controlPort: line.port })
      await node.log.line(reachable)
      const mark = node.log.mark
      line.state.newcomers = fate
      line.cut()
      await once(line.events, fate)
      line.state.newcomers = 'carried'
      await node.log.line(reachable, mark)
      checkPauses(t, node.log, mark)
      t.notOk(node.log.has(/it did not answer within/, mark), 'no time limit ran out')
      t.equal(await statusOf(gateway.firstPort), 200)
    })
  }

  t.test('a line that stalls for a while loses nothing', async (t) => {
    const gateway = await startGateway(t)
    const line = await openLine(t, gateway.controlPort)
    const node = await startTunnelNode(t, { controlPort: line.port }, { plugins: [streams] })
    await node.log.line(reachable)
    const port = gateway.firstPort
    const marks = { node: node.log.mark, gateway: gateway.log.mark }
    const client = connect({ host: '127.0.0.1', port })
    const bytes = 50_000_000
    client.write(`GET /streams/down?bytes=${bytes} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`)
    await once(client, 'readable')
    line.stall()
    const asking = statusOf(port)
    await delay(4000)
    line.restore()
    t.equal(await asking, 200)
    t.ok((await endOf(client)).length > bytes, 'the download is whole')
    t.notOk(node.log.has(/^The connection to the gateway/, marks.node))
    t.notOk(gateway.log.has(/^The node was lost/, marks.gateway))
  })

  t.test('a node whose process stands still is away, and comes back with it', async (t) => {
    const gateway = await startGateway(t)
    const node = await startProcess(t, 'node', t.testdir({}), {
      'overlay-tunnel': { gateway: `127.0.0.1:${gateway.controlPort}` },
    })
    await node.log.line(reachable)
    const port = gateway.firstPort
    t.equal(await statusOf(port), 200)

    const mark = { node: node.log.mark, gateway: gateway.log.mark }
    node.child.kill('SIGSTOP')
    await gateway.log.line(/^The node was lost/, mark.gateway)
    t.equal(await statusOf(port), 503)
    node.child.kill('SIGCONT')
    await node.log.line(reachable, mark.node)
    checkPauses(t, node.log, mark.node)
    t.equal(await statusOf(port), 200)
  })

  t.test('a process that stands still for a moment loses nothing', async (t) => {
    const gateway = await startGateway(t)
    const node = await startProcess(t, 'node', t.testdir({}), {
      'overlay-tunnel': { gateway: `127.0.0.1:${gateway.controlPort}` },
    })
    await node.log.line(reachable)
    node.child.kill('SIGSTOP')
    await delay(3000)
    const asking = statusOf(gateway.firstPort)
    node.child.kill('SIGCONT')
    t.equal(await asking, 200)
    t.notOk(gateway.log.has(/^The node was lost/))
    t.notOk(node.log.has(/^The connection to the gateway/))
  })

  t.end()
})
