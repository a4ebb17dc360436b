import { join } from 'node:path'
import { root } from '../run/command.ts'
import type { Bench } from './bench.ts'
import { type CrowdFigures, crowdLimitMs, setUpWasmCrowd } from './fixtures/wasm-crowd.ts'
import { setUpWasm, type WasmSetup } from './fixtures/wasm-setup.ts'
import { loadHttp } from './http-load.ts'
import { startServer } from './process.ts'

const add = { filepath: '/add.wasm', function: 'add', args: [19, 23] }
/** `wasm.timeoutMs` of the node. */
const limitMs = 500

/** Calls for some seconds. The first calls are slower, until V8 has compiled their code. */
function load({ url, headers }: Pick<WasmSetup, 'url' | 'headers'>) {
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
  async setUp() {
    const setup = await setUpWasm()
    const bare = await startServer(join(root, 'test/bench/fixtures/wasm-bare.ts'))
    await load(setup)
    return {
      ours: async () => (await load(setup)).requestsPerSecond,
      baseline: async () => (await load({ url: bare.url, headers: setup.headers })).requestsPerSecond,
      async tearDown() {
        await setup.tearDown()
        await bare.stop()
      },
    }
  },
}

const latency: Bench = {
  name: 'wasm: execute-file of a warm add, p99 with 32 connections',
  unit: 'ms',
  better: 'less',
  goal: { ours: 25 },
  async setUp() {
    const setup = await setUpWasm()
    await load(setup)
    return { ours: async () => (await load(setup)).p99Ms, tearDown: setup.tearDown }
  },
}

const cold: Bench = {
  name: 'wasm: first call of a module of 1 MB',
  unit: 'ms',
  better: 'less',
  goal: { ours: 150 },
  rounds: 9,
  async setUp() {
    const setup = await setUpWasm()
    let count = 0
    return {
      async ours() {
        count += 1
        const name = `${count}.wasm`
        await setup.store(name, 2 ** 20)
        const { ms, status } = await setup.call(name, { ...add, filepath: `/${name}` })
        if (status !== 200) throw new Error(`The call was answered with ${status}.`)
        return ms
      },
      tearDown: setup.tearDown,
    }
  },
}

const overrun: Bench = {
  name: 'wasm: a hostile loop is answered after its limit',
  unit: 'ms',
  better: 'less',
  goal: { ours: 150 },
  async setUp() {
    const setup = await setUpWasm(limitMs)
    await setup.call('add.wasm', add)
    return {
      async ours() {
        const { ms, status } = await setup.call('add.wasm', { ...add, function: 'loop', args: [] })
        if (status !== 422) throw new Error(`The loop was answered with ${status}.`)
        return ms - limitMs
      },
      tearDown: setup.tearDown,
    }
  },
}

/** The measures of each crowd. */
const measures: readonly (readonly [name: string, unit: string, figure: keyof CrowdFigures])[] = [
  ['p95 of short calls', 'ms', 'p95Ms'],
  ['the slowest /health', 'ms', 'slowestHealthMs'],
  ['sandbox processes', 'processes', 'processes'],
]

/** @param goals one for each measure */
function crowd(loopers: number, goals: readonly number[]): Bench[] {
  const who = loopers === 1 ? 'one user with endless loops' : `${loopers} users with endless loops`
  return measures.map(([name, unit, figure], index) => ({
    name: `wasm: ${name} beside ${who}`,
    unit,
    better: 'less',
    rounds: 3,
    goal: { ours: goals[index] ?? 0 },
    async setUp() {
      const { measure, tearDown } = await setUpWasmCrowd(loopers)
      return { ours: async () => (await measure())[figure], tearDown }
    },
  }))
}

/** The default of `wasm-native.processes`, and the spare. */
const processes = 5

export default [
  warm,
  latency,
  cold,
  overrun,
  ...crowd(8, [2 * crowdLimitMs, 100, processes]),
  ...crowd(1, [250, 100, processes]),
] satisfies Bench[]
