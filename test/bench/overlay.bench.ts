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

/** Starts a gateway and a node behind it that stores files. */
async function startStoringNode(endsTls: 'node' | 'gateway') {
  const { t, tearDown } = teardowns()
  const processes = await startTunnelProcesses(t, endsTls, { storesFiles: true })
  const { node, dataFolder } = processes
  const headers = { authorization: `Bearer ${node.token}` }
  const answer = await fetch(new URL('/whoami', node.url), { headers })
  const { user } = (await answer.json()) as { user: { uuid: string } }
  /** Stores a file of this size, and returns where the node has it. */
  const store = async (name: string, bytes: number) => {
    const url = `${node.url}/write?path=/${name}`
    await transfer({ method: 'PUT', url, authorization: headers.authorization, bytes })
    return join(dataFolder, 'files', user.uuid, name)
  }
  return { ...processes, headers, store, t, tearDown }
}

function download(endsTls: 'node' | 'gateway', goal: number): Bench {
  return {
    name: `overlay: GET of a file of 1 GiB, TLS ${endsTls === 'node' ? 'on the node' : 'at the gateway'}, against a bare https server`,
    unit: 'MB/s',
    better: 'more',
    goal: { ratio: goal },
    rounds: 3,
    async setUp() {
      const { httpsPort, headers, store, t, tearDown } = await startStoringNode(endsTls)
      const file = await store('large', gigabyte)
      const bare = await startServer(join(import.meta.dirname, 'fixtures/overlay-bare-https.ts'), [file])
      t.teardown(() => bare.stop())
      const rate = async (url: string) => {
        const seconds = await transfer({
          method: 'GET',
          url,
          serverName: nodeName,
          bytes: gigabyte,
          ...headers,
        })
        return gigabyte / 1e6 / seconds
      }
      return {
        ours: () => rate(`https://127.0.0.1:${httpsPort}/read?path=/large`),
        baseline: () => rate(bare.url.origin),
        tearDown,
      }
    },
  }
}

/** Reads of 1 KiB from the node, through the gateway's port for it and directly. */
async function smallReads() {
  const { node, port, headers, store, tearDown } = await startStoringNode('node')
  await store('small', 1024)
  const load = (origin: string, connections: number) =>
    loadHttp({ url: new URL('/read?path=/small', origin), headers, connections, seconds: 2 })
  return {
    through: (connections: number) => load(`http://127.0.0.1:${port}`, connections),
    direct: (connections: number) => load(node.url, connections),
    tearDown,
  }
}

const latency: Bench = {
  name: 'overlay: time that the tunnel adds to GET /read of 1 KiB, p50',
  unit: 'ms',
  better: 'less',
  goal: { ours: 1 },
  rounds: 3,
  async setUp() {
    const { through, direct, tearDown } = await smallReads()
    return { ours: async () => (await through(1)).p50Ms - (await direct(1)).p50Ms, tearDown }
  },
}

const reads: Bench = {
  name: 'overlay: GET /read of 1 KiB, 32 connections, against the own port of the node',
  unit: 'requests/s',
  better: 'more',
  goal: { ratio: 0.5 },
  rounds: 3,
  async setUp() {
    const { through, direct, tearDown } = await smallReads()
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
  rounds: 1,
  fresh: true,
  setUp: async () => ({ ours: memoryOfNode }),
}

export default [
  download('node', 0.65),
  download('gateway', 0.5),
  latency,
  reads,
  idleMemory,
] satisfies Bench[]
