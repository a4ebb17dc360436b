// In a process of its own: it starts, stops and kills processes, and waits for their time limits.
import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'tap'
import { openLine } from './fixtures/bad-line.ts'
import { ask } from './fixtures/http-client.ts'
import { knownNode } from './fixtures/known-node.ts'
import { startProcess } from './fixtures/processes.ts'
import { startGateway, startTunnelNode } from './fixtures/tunnel.ts'

const reachable = /^Clients reach the node at http:/

/** Waits until a check passes, and returns how long that took, in milliseconds. */
async function timeUntil(check: () => Promise<boolean>): Promise<number> {
  const began = performance.now()
  while (!(await check())) await delay(50)
  return performance.now() - began
}

async function statusOf(port: number): Promise<number> {
  return (await ask(port, '/health')).status
}

test('losses', { jobs: 4 }, async (t) => {
  t.test('a gateway that is killed comes back with the same port and name of the node', async (t) => {
    const me = await knownNode(t)
    const gateway = await startGateway(t, {})
    await gateway.node.stop()
    const { controlPort, firstPort } = gateway
    const host = '127.0.0.1'
    const config = {
      gateway: {
        domain: 'example.test',
        names: { me: me.nodeId },
        control: { host, port: controlPort },
        http: { enabled: false },
        https: { host, port: 0 },
        ports: { host, range: `${firstPort}-${firstPort + 11}` },
      },
    }
    const dataFolder = t.testdir({})
    const first = await startProcess(t, 'gateway', dataFolder, config)
    const node = await startTunnelNode(t, gateway, me)
    await node.log.line(reachable)
    const { allocatedPort } = await node.status()

    let mark = node.log.mark
    await first.end('SIGKILL')
    await node.log.line(/^The connection to the gateway has ended/, mark)
    t.match(await node.status(), { connected: false, allocatedPort: 0, proxyEnabled: true })

    mark = node.log.mark
    await startProcess(t, 'gateway', dataFolder, config)
    const took = await timeUntil(async () => (await node.status()).allocatedPort !== 0)
    t.ok(took < 3000, `the node is back after ${took.toFixed(0)} ms`)
    await node.log.line(reachable, mark)
    t.match(await node.status(), { connected: true, allocatedPort })
    t.equal(await statusOf(allocatedPort), 200)
  })

  t.test('both sides notice a loss that no packet tells of, and the node comes back', async (t) => {
    const gateway = await startGateway(t)
    const line = await openLine(t, gateway.controlPort)
    const node = await startTunnelNode(t, { controlPort: line.port })
    await node.log.line(reachable)
    const port = gateway.firstPort
    t.equal(await statusOf(port), 200)

    const marks = { node: node.log.mark, gateway: gateway.log.mark }
    line.state.lost = true
    const began = performance.now()
    await Promise.all([
      node.log.line(/silent for 9 s/, marks.node),
      gateway.log.line(/^The node was lost.*silent for 9 s/, marks.gateway),
    ])
    const noticed = performance.now() - began
    t.ok(noticed < 10_000, `noticed after ${noticed.toFixed(0)} ms`)
    t.match(await node.status(), { connected: false, allocatedPort: 0 })
    t.equal(await statusOf(port), 503)

    line.state.lost = false
    const mark = node.log.mark
    const took = await timeUntil(async () => (await node.status()).connected)
    t.ok(took < 3000, `the node is back after ${took.toFixed(0)} ms`)
    await node.log.line(reachable, mark)
    t.equal(await statusOf(port), 200)
  })

  t.test('a node whose process stands still is away, and comes back with it', async (t) => {
    const gateway = await startGateway(t)
    const node = await startProcess(t, 'node', t.testdir({}), {
      'overlay-tunnel': { gateway: `127.0.0.1:${gateway.controlPort}` },
    })
    await node.log.line(reachable)
    const port = gateway.firstPort
    t.equal(await statusOf(port), 200)

    const mark = gateway.log.mark
    node.child.kill('SIGSTOP')
    await gateway.log.line(/^The node was lost/, mark)
    t.equal(await statusOf(port), 503)
    node.child.kill('SIGCONT')
    const took = await timeUntil(async () => (await statusOf(port)) === 200)
    t.ok(took < 3000, `the node is back after ${took.toFixed(0)} ms`)
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
    t.notOk(gateway.log.messages('info').some((line) => line.startsWith('The node was lost')))
    t.notOk(node.log.messages('warn').some((line) => line.startsWith('The connection to the gateway')))
  })

  t.end()
})
