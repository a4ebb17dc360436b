import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePorts } from '../free-ports.ts'
import { type Crowd, startCrowd } from '../overlay/fixtures/crowds.ts'
import { ask } from '../overlay/fixtures/http-client.ts'
import { knownNode } from '../overlay/fixtures/known-node.ts'
import { startProcess } from '../overlay/fixtures/processes.ts'
import { teardowns } from '../overlay/fixtures/teardowns.ts'
import type { Fault } from './fault.ts'

const crowds = 4
const nodesOfCrowd = 250
const firstPort = 30_000
const ports = Array.from({ length: crowds * nodesOfCrowd }, (_, at) => firstPort + at)

/** Seconds for all nodes to come back to a gateway that was killed. */
const allowance = 60

/** Returns the node behind each port, in the order of the ports. */
async function nodesByPort(): Promise<string[]> {
  const nodes: string[] = []
  for (const port of ports) {
    const { status, body } = await ask(port, '/')
    assert.equal(status, 200, body)
    nodes.push((JSON.parse(body) as { nodeId: string }).nodeId)
  }
  return nodes
}

async function allConnected(all: readonly Crowd[], count: number): Promise<void> {
  await Promise.all(all.map((crowd) => crowd.connected((connected) => connected === count)))
}

export default {
  name: 'A gateway that is killed has its 1,000 nodes back within a minute, each at its port.',
  defaultRounds: 1,
  roundSeconds: 300,
  async round({ log }) {
    const { t, tearDown } = teardowns()
    try {
      const host = '127.0.0.1'
      const { dataFolder, nodeId: gatewayId } = await knownNode(t)
      const controlPort = await freePorts(1)
      const config = {
        gateway: {
          control: { host, port: controlPort },
          ports: { host, range: `${firstPort}-${ports.at(-1)}` },
          limits: { nodesPerAddress: ports.length },
        },
      }
      const gateway = await startProcess(t, 'gateway', dataFolder, config)
      const folder = await mkdtemp(join(tmpdir(), 'nodekeep-crowd-'))
      t.teardown(() => rm(folder, { recursive: true, force: true }))
      const timed = async (what: string, work: Promise<unknown>) => {
        const began = performance.now()
        await work
        const seconds = (performance.now() - began) / 1000
        log(`${what}: ${seconds.toFixed(1)} s`)
        return seconds
      }
      const all = Array.from({ length: crowds }, (_, at) =>
        startCrowd(t, { folder: join(folder, `${at}`), count: nodesOfCrowd, controlPort, gatewayId }),
      )
      await timed('1,000 nodes connect', allConnected(all, nodesOfCrowd))
      const before = await nodesByPort()
      assert.equal(new Set(before).size, ports.length)

      await gateway.end('SIGKILL')
      await timed('1,000 nodes notice that the gateway is gone', allConnected(all, 0))
      const took = await timed(
        '1,000 nodes are back',
        startProcess(t, 'gateway', dataFolder, config).then(() => allConnected(all, nodesOfCrowd)),
      )
      assert.deepEqual(await nodesByPort(), before)
      assert.ok(took < allowance, `it took ${took.toFixed(0)} s`)
    } finally {
      await tearDown()
    }
  },
} satisfies Fault
