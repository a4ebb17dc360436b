import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { FirstLine } from '@nodekeep/plugin-sdk/tunnel'
import { test } from 'tap'
import { freePorts } from '../free-ports.ts'
import { newProcess, type RawNode, rawNode } from './fixtures/raw-node.ts'
import { startGateway } from './fixtures/tunnel.ts'

/** Opens connections one after the other. Returns what the gateway said on the first one that it closed. */
async function firstEnd(node: RawNode, count: number, line: () => FirstLine): Promise<string> {
  const ends: Promise<string>[] = []
  for (let at = 0; at < count; at += 1) {
    const { begun, end } = node.open(line())
    await begun
    ends.push(end)
  }
  return Promise.race(ends)
}

test('processes with one key that wait for each other do not pile up', async (t) => {
  const gateway = await startGateway(t, { gateway: { limits: { handshakesPerAddress: 2 } } })
  const node = await rawNode(t, gateway.controlPort)
  const silent = node.open(newProcess())
  await silent.begun
  t.equal(await firstEnd(node, 20, () => newProcess()), '', 'one beyond the limit is closed')
})

test('a node of another version of the protocol is told to be updated', async (t) => {
  const gateway = await startGateway(t)
  const node = await rawNode(t, gateway.controlPort)
  const { end } = node.open({ ...newProcess(), version: 1 } as FirstLine)
  t.match(
    await end,
    /"type":"refused","reason":"The gateway speaks version 2 .* Update the node or the gateway/,
  )
})

test('connections of nodes to the API count as connections of their address', async (t) => {
  const gateway = await startGateway(t, { gateway: { limits: { connectionsPerAddress: 3 } } })
  const node = await rawNode(t, gateway.controlPort)
  t.equal(await firstEnd(node, 10, () => ({ purpose: 'api' })), '', 'one beyond the limit is closed')
})

test('nodes that come again and again do not fill the log of the gateway', async (t) => {
  const gateway = await startGateway(t, { gateway: { ports: { host: '127.0.0.1', range: '' } } })
  const node = await rawNode(t, gateway.controlPort)
  const mark = gateway.log.mark
  for (let at = 0; at < 130; at += 1) {
    const visit = node.open(newProcess())
    await visit.port
    visit.close()
    await visit.end
  }
  await gateway.log.line(/are not logged for up to a minute/, mark)
  const lines = gateway.log.fields('node', mark).length
  t.ok(lines <= 100, `${lines} lines`)

  const other = (await rawNode(t, gateway.controlPort, '127.0.0.3')).open(newProcess())
  await other.port
  other.close()
  await gateway.log.line(/^The node was lost/, mark + lines)
  t.pass('nodes of other addresses are logged')
})

test('a gateway that cannot write to its disk for a while takes nodes as before afterwards', async (t) => {
  const gateway = await startGateway(t)
  const node = await rawNode(t, gateway.controlPort)
  const first = node.open(newProcess())
  const port = await first.port
  const other = new DatabaseSync(join(gateway.node.dataFolder, 'plugins', 'gateway', 'ports.sqlite'))
  t.teardown(() => other.close())
  // Every write fails while another connection has the database for itself.
  other.exec('BEGIN IMMEDIATE')
  first.close()
  await gateway.log.line(/^The node was lost/)
  await gateway.log.line(/^The time for which nodes have been connected cannot be stored/)
  other.exec('ROLLBACK')

  const mark = gateway.log.mark
  const second = node.open(newProcess())
  t.equal(await second.port, port)
  second.close()
  await gateway.log.line(/^The node was lost/, mark)
  t.equal(await node.open(newProcess()).port, port)
  t.same(gateway.log.messages('error').length, 1)
})

test('a node that comes once does not keep its port from others, and one that is connected does', async (t) => {
  const first = await freePorts(2)
  const gateway = await startGateway(t, {
    gateway: { ports: { host: '127.0.0.1', range: `${first}-${first + 1}` } },
  })
  const arrive = async () => (await rawNode(t, gateway.controlPort)).open(newProcess())
  const [staying, leaving] = [await arrive(), await arrive()]
  t.same([await staying.port, await leaving.port].sort(), [first, first + 1])
  t.equal(await (await arrive()).port, 0, 'both are connected')

  leaving.close()
  await leaving.end
  const left = await leaving.port
  let port = 0
  // The node that left keeps its port for as long as it was there.
  while (port === 0) {
    const later = await arrive()
    port = await later.port
    if (port === 0) later.close()
  }
  t.equal(port, left)
})
