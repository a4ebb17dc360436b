import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePorts } from '../free-ports.ts'
import { startCrowd } from '../overlay/fixtures/crowds.ts'
import { knownNode } from '../overlay/fixtures/known-node.ts'
import { startProcess } from '../overlay/fixtures/processes.ts'
import { teardowns } from '../overlay/fixtures/teardowns.ts'
import { nodeName, startTunnelProcesses } from '../overlay/fixtures/tunnel-processes.ts'
import type { Bench } from './bench.ts'
import { transfer } from './fixtures/files-transfers.ts'
import { loadHttp } from './http-load.ts'
import { residentMB, startServer } from './process.ts'

const gigabyte = 2 ** 30

function download(endsTls: 'node' | 'gateway', goal: number): Bench {
  return {
    name: `overlay: GET of 1 GiB, TLS ${endsTls === 'node' ? 'on the node' : 'at the gateway'}, against a bare https server`,
    unit: 'MB/s',
    better: 'more',
    goal: { ratio: goal },
    async setUp() {
      const { t, tearDown } = teardowns()
      const { httpsPort } = await startTunnelProcesses(t, endsTls)
      const bare = await startServer(join(import.meta.dirname, 'fixtures/overlay-bare-https.ts'))
      t.teardown(() => bare.stop())
      const rate = async (origin: string) => {
        const url = `${origin}/streams/down?bytes=${gigabyte}`
        const seconds = await transfer({ method: 'GET', url, serverName: nodeName, bytes: gigabyte })
        return gigabyte / 1e6 / seconds
      }
      return {
        ours: () => rate(`https://127.0.0.1:${httpsPort}`),
        baseline: () => rate(bare.url.origin),
        tearDown,
      }
    },
  }
}

/** A load on the node, through the gateway's port for it and directly. */
async function smallRequests() {
  const { t, tearDown } = teardowns()
  const { node, port } = await startTunnelProcesses(t, 'node')
  const load = (origin: string, connections: number) =>
    loadHttp({ url: new URL('/streams/mirror', origin), connections, seconds: 2 })
  return {
    through: (connections: number) => load(`http://127.0.0.1:${port}`, connections),
    direct: (connections: number) => load(node.url, connections),
    tearDown,
  }
}

const latency: Bench = {
  name: 'overlay: time that the tunnel adds to a small request, p50',
  unit: 'ms',
  better: 'less',
  goal: { ours: 1 },
  async setUp() {
    const { through, direct, tearDown } = await smallRequests()
    return { ours: async () => (await through(1)).p50Ms - (await direct(1)).p50Ms, tearDown }
  },
}

const requests: Bench = {
  name: 'overlay: small requests, 32 connections, against the own port of the node',
  unit: 'requests/s',
  better: 'more',
  goal: { ratio: 0.5 },
  async setUp() {
    const { through, direct, tearDown } = await smallRequests()
    return {
      ours: async () => (await through(32)).requestsPerSecond,
      baseline: async () => (await direct(32)).requestsPerSecond,
      tearDown,
    }
  },
}

const nodes = 1000
/** The first ones load the code of the gateway, which does not count. */
const firstNodes = 50
/** Seconds after which V8 has given back the memory that the arrivals needed. */
const idleSeconds = 15

/** Starts a gateway, lets nodes connect that have no clients, and returns the memory that each of them takes. */
async function memoryOfNode(): Promise<number> {
  const { t, tearDown } = teardowns()
  try {
    const host = '127.0.0.1'
    const gateway = await knownNode(t)
    const controlPort = await freePorts(1)
    const { pid } = await startProcess(t, 'gateway', gateway.dataFolder, {
      gateway: {
        control: { host, port: controlPort },
        ports: { host, range: '30000-32000' },
        limits: { nodesPerAddress: 5000, handshakesPerAddress: 2000 },
      },
    })
    const folder = await mkdtemp(join(tmpdir(), 'nodekeep-overlay-'))
    t.teardown(() => rm(folder, { recursive: true, force: true }))
    const arrive = async (name: string, count: number) => {
      const options = { folder: join(folder, name), count, controlPort, gatewayId: gateway.nodeId }
      await startCrowd(t, options).connected((connected) => connected === count)
    }
    await arrive('first', firstNodes)
    await delay(idleSeconds * 1000)
    const before = await residentMB(pid)
    for (let at = 0; at < 2; at += 1) await arrive(`${at}`, nodes / 2)
    await delay(idleSeconds * 1000)
    return (((await residentMB(pid)) - before) * 1000) / nodes
  } finally {
    await tearDown()
  }
}

const idleMemory: Bench = {
  name: 'overlay: memory of an idle node on the gateway',
  unit: 'KB',
  better: 'less',
  goal: { ours: 200 },
  rounds: 2,
  setUp: async () => ({ ours: memoryOfNode }),
}

export default [
  download('node', 0.65),
  download('gateway', 0.5),
  latency,
  requests,
  idleMemory,
] satisfies Bench[]
