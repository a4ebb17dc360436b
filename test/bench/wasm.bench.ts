import { join } from 'node:path'
import { root } from '../run/command.ts'
import type { Bench } from './bench.ts'
import { contentionLimitMs, startWasmContention } from './fixtures/wasm-crowd.ts'
import { startWasmNode, type WasmNode } from './fixtures/wasm-stand.ts'
import { loadHttp } from './http-load.ts'
import { startServer } from './process.ts'

const add = { filepath: '/add.wasm', function: 'add', args: [19, 23] }
/** `wasm.timeoutMs` of the node. */
const limitMs = 500

/** Calls `add` for some seconds. The first run is slower, until V8 has compiled the code. */
function load({ url, headers }: Pick<WasmNode, 'url' | 'headers'>) {
  return loadHttp({
    url: new URL('/api/wasm/execute-file', url),
    method: 'POST',
    headers,
    body: JSON.stringify(add),
  })
}

const warm: Bench = {
  name: 'wasm: execute-file of a warm add, against a bare Fastify',
  unit: 'requests/s',
  better: 'more',
  goal: { ratio: 0.2 },
  also: [
    {
      name: 'wasm: execute-file of a warm add, p99 with 32 connections',
      unit: 'ms',
      better: 'less',
      goal: { ours: 25 },
    },
  ],
  async setUp() {
    const node = await startWasmNode()
    const bare = await startServer(join(root, 'test/bench/fixtures/wasm-bare.ts'))
    await load(node)
    return {
      async ours() {
        const { requestsPerSecond, p99Ms } = await load(node)
        return [requestsPerSecond, p99Ms]
      },
      baseline: async () => (await load({ url: bare.url, headers: node.headers })).requestsPerSecond,
      async tearDown() {
        await node.tearDown()
        await bare.stop()
      },
    }
  },
}

const cold: Bench = {
  name: 'wasm: first call of a module of 1 MB',
  unit: 'ms',
  better: 'less',
  goal: { ours: 150 },
  rounds: 9,
  async setUp() {
    const node = await startWasmNode()
    let count = 0
    return {
      async ours() {
        count += 1
        const name = `${count}.wasm`
        await node.store(name, 2 ** 20)
        const { ms, status } = await node.call(name, { ...add, filepath: `/${name}` })
        if (status !== 200) throw new Error(`The call was answered with ${status}.`)
        return ms
      },
      tearDown: node.tearDown,
    }
  },
}

const overrun: Bench = {
  name: 'wasm: a hostile loop is answered after its limit',
  unit: 'ms',
  better: 'less',
  goal: { ours: 150 },
  async setUp() {
    const node = await startWasmNode(limitMs)
    await node.call('add.wasm', add)
    return {
      async ours() {
        const { ms, status } = await node.call('add.wasm', { ...add, function: 'loop', args: [] })
        if (status !== 422) throw new Error(`The loop was answered with ${status}.`)
        return ms - limitMs
      },
      tearDown: node.tearDown,
    }
  },
}

/** The default of `wasm-native.processes`, and the spare. */
const processes = 5

/** @param goals of p95 and of `/health`, in milliseconds */
function contention(loopers: number, [p95, health]: readonly [number, number]): Bench {
  const who = loopers === 1 ? 'one user with endless loops' : `${loopers} users with endless loops`
  return {
    name: `wasm: p95 of short calls beside ${who}`,
    unit: 'ms',
    better: 'less',
    goal: { ours: p95 },
    also: [
      {
        name: `wasm: the slowest /health beside ${who}`,
        unit: 'ms',
        better: 'less',
        goal: { ours: health },
      },
      {
        name: `wasm: sandbox processes beside ${who}`,
        unit: 'processes',
        better: 'less',
        goal: { ours: processes },
      },
    ],
    rounds: 3,
    async setUp() {
      const { measure, tearDown } = await startWasmContention(loopers)
      const ours = async () => {
        const { p95Ms, slowestHealthMs, processes } = await measure()
        return [p95Ms, slowestHealthMs, processes]
      }
      return { ours, tearDown }
    },
  }
}

export default [
  warm,
  cold,
  overrun,
  contention(8, [2 * contentionLimitMs, 100]),
  contention(1, [250, 100]),
] satisfies Bench[]
