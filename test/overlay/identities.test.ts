// In a process of its own: it stops and kills processes.
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'tap'
import { ask } from './fixtures/http-client.ts'
import { knownNode } from './fixtures/known-node.ts'
import { startProcess } from './fixtures/processes.ts'
import { startGateway, startTunnelNode } from './fixtures/tunnel.ts'

const reachable = /^Clients reach the node at http:/

test('a node connects to the gateway that it knows, and to no other one', async (t) => {
  const gateway = await startGateway(t)
  const me = await knownNode(t)
  const first = await startTunnelNode(t, gateway, me)
  await first.log.line(reachable)
  const [warning = '', ...others] = first.log.messages('warn')
  t.match(warning, gateway.nodeId, 'the id that it trusts from now on')
  t.same(others, [])
  await first.node.stop()

  const second = await startTunnelNode(t, gateway, me)
  await second.log.line(reachable)
  t.same(second.log.messages('warn'), [], 'the gateway is known')
  await second.node.stop()

  await gateway.node.stop()
  const impostor = await startGateway(t, { like: gateway })
  t.not(impostor.nodeId, gateway.nodeId)
  const third = await startTunnelNode(t, impostor, me)
  await third.log.line(new RegExp(`The gateway has the id ${impostor.nodeId}, and not ${gateway.nodeId}`))
  t.match(await third.status(), { connected: false, allocatedPort: 0 })
  await third.node.stop()

  const told = await startTunnelNode(t, impostor, { ...me, tunnel: { gatewayId: impostor.nodeId } })
  await told.log.line(reachable)
  t.same(told.log.messages('warn'), [], 'a gateway whose id is in the configuration')

  const wrong = await startTunnelNode(t, impostor, { tunnel: { gatewayId: gateway.nodeId } })
  await wrong.log.line(/as in "overlay-tunnel.gatewayId"/)
  t.match(await wrong.status(), { connected: false })
})

test('a node that is not on the list is told so', async (t) => {
  const [me, stranger] = await Promise.all([knownNode(t), knownNode(t)])
  const gateway = await startGateway(t, { gateway: { nodes: [me.nodeId] } })
  const mine = await startTunnelNode(t, gateway, me)
  await mine.log.line(reachable)
  const other = await startTunnelNode(t, gateway, stranger)
  await other.log.line(new RegExp(`operator of the gateway has to add ${stranger.nodeId} to "gateway.nodes"`))
  t.match(await other.status(), { connected: false, allocatedPort: 0 })
})

test('of two processes with one key, the older one stays as long as it answers', async (t) => {
  const gateway = await startGateway(t)
  const config = {
    'overlay-tunnel': { gateway: `127.0.0.1:${gateway.controlPort}`, gatewayId: gateway.nodeId },
  }
  const me = await knownNode(t)
  const copy = await mkdtemp(join(tmpdir(), 'nodekeep-overlay-'))
  t.teardown(() => rm(copy, { recursive: true, force: true }))
  await cp(me.dataFolder, copy, { recursive: true })

  const older = await startProcess(t, 'node', me.dataFolder, config)
  await older.log.line(reachable)
  const newer = await startTunnelNode(t, gateway, { dataFolder: copy, tunnel: { gatewayId: gateway.nodeId } })
  await newer.log.line(/Another process with the same node key is connected/)
  await gateway.log.line(/^A second process with the key of a connected node was refused/)
  t.match(await newer.status(), { connected: false })
  t.equal((await ask(gateway.firstPort, '/health')).status, 200, 'the older one serves')
  await newer.node.stop()

  // The older process does not answer any more, but its connection is still there.
  older.child.kill('SIGSTOP')
  const third = await startTunnelNode(t, gateway, { dataFolder: copy, tunnel: { gatewayId: gateway.nodeId } })
  await third.log.line(reachable)
  t.match(await third.status(), { connected: true, allocatedPort: gateway.firstPort })
  older.child.kill('SIGCONT')
  await older.log.line(/^Another process with the key of this node has taken its place/)
})

test('a node that starts again at once takes its own place', async (t) => {
  const gateway = await startGateway(t)
  const me = await knownNode(t)
  const first = await startProcess(t, 'node', me.dataFolder, {
    'overlay-tunnel': { gateway: `127.0.0.1:${gateway.controlPort}` },
  })
  await first.log.line(reachable)
  await first.end('SIGKILL')
  const second = await startTunnelNode(t, gateway, me)
  await second.log.line(reachable)
  t.match(await second.status(), { connected: true, allocatedPort: gateway.firstPort })
})

test('one address has a limited number of nodes, and a node that is there comes back', async (t) => {
  const gateway = await startGateway(t, { gateway: { limits: { nodesPerAddress: 1 } } })
  const first = await startTunnelNode(t, gateway)
  await first.log.line(reachable)
  const second = await startTunnelNode(t, gateway)
  await second.log.line(/as many nodes as it may, in all or from this address/)
  t.match(await first.status(), { connected: true })
  t.match(await second.status(), { connected: false })
  // The refused node would try for the free place too.
  await Promise.all([first.node.stop(), second.node.stop()])
  const again = await startTunnelNode(t, gateway)
  await again.log.line(reachable)
})
