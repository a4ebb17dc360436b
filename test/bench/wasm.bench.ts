import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { root } from '../run/command.ts'
import type { Bench } from './bench.ts'
import { type Attacked, setUpWasmCrowd, type WasmCrowd } from './fixtures/wasm-crowd.ts'
import { isThere, sandboxesOf } from './fixtures/wasm-sandboxes.ts'
import { setUpWasmStand, type WasmStand } from './fixtures/wasm-stand.ts'
import { loadHttp } from './http-load.ts'
import { startServer } from './process.ts'

const add = { filepath: '/add.wasm', function: 'add', args: [19, 23] }
/** `wasm.timeoutMs` of the node. */
const limitMs = 500

/** Calls for some seconds. Until V8 has compiled what they run, that is slower than it will be. */
function load({ url, headers }: Pick<WasmStand, 'url' | 'headers'>) {
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
  goal: { ratio: 0.4 },
  async setUp() {
    const stand = await setUpWasmStand()
    const bare = await startServer(join(root, 'test/bench/fixtures/wasm-bare.ts'))
    await load(stand)
    return {
      ours: async () => (await load(stand)).requestsPerSecond,
      baseline: async () => (await load({ url: bare.url, headers: stand.headers })).requestsPerSecond,
      async tearDown() {
        await stand.tearDown()
        await bare.stop()
      },
    }
  },
}

const latency: Bench = {
  name: 'wasm: execute-file of a warm add, p99 with 32 connections',
  unit: 'ms',
  better: 'less',
  goal: { ours: 10 },
  async setUp() {
    const stand = await setUpWasmStand()
    await load(stand)
    return { ours: async () => (await load(stand)).p99Ms, tearDown: stand.tearDown }
  },
}

const cold: Bench = {
  name: 'wasm: first call of a module of 1 MB',
  unit: 'ms',
  better: 'less',
  goal: { ours: 100 },
  rounds: 9,
  async setUp() {
    const stand = await setUpWasmStand()
    let count = 0
    return {
      async ours() {
        count += 1
        const name = `${count}.wasm`
        await stand.store(name, 2 ** 20)
        const { ms, status } = await stand.call(name, { ...add, filepath: `/${name}` })
        if (status !== 200) throw new Error(`The call was answered with ${status}.`)
        return ms
      },
      tearDown: stand.tearDown,
    }
  },
}

/** Calls a loop. @returns when it was answered and when its process was gone, in milliseconds after the limit */
async function loop({ pid, call }: WasmStand): Promise<{ readonly answered: number; readonly gone: number }> {
  const began = performance.now()
  const called = call('add.wasm', { ...add, function: 'loop', args: [] })
  await delay(limitMs / 2)
  const there = await sandboxesOf(pid)
  const { ms, status } = await called
  if (status !== 422) throw new Error(`The loop was answered with ${status}.`)
  for (let all = true; all; all = (await Promise.all(there.map(isThere))).every(Boolean)) {
    if (performance.now() - began > 10 * limitMs) throw new Error('The process of the loop does not end.')
  }
  return { answered: ms - limitMs, gone: performance.now() - began - limitMs }
}

function overrun(name: string, figure: 'answered' | 'gone'): Bench {
  return {
    name: `wasm: ${name}`,
    unit: 'ms',
    better: 'less',
    goal: { ours: 50 },
    async setUp() {
      const stand = await setUpWasmStand()
      await stand.call('add.wasm', add)
      return { ours: async () => (await loop(stand))[figure], tearDown: stand.tearDown }
    },
  }
}

/** A bench of 200 calls at once, of which a quarter is hostile and comes from other users. */
function crowd(
  bench: Omit<Bench, 'better' | 'rounds' | 'setUp'>,
  ours: (attacked: Attacked) => number,
  baseline?: (crowd: WasmCrowd) => Promise<number>,
): Bench {
  return {
    ...bench,
    better: 'less',
    rounds: 3,
    async setUp() {
      const crowd = await setUpWasmCrowd()
      return {
        ours: async () => ours(await crowd.attacked()),
        ...(baseline && { baseline: () => baseline(crowd) }),
        tearDown: crowd.tearDown,
      }
    },
  }
}

const attacks: Bench[] = [
  crowd(
    {
      name: 'wasm: the slowest of 150 calls at once, with 50 hostile ones against without',
      unit: 'ms',
      goal: { ratio: 3 },
    },
    ({ slowestMs }) => slowestMs,
    (crowd) => crowd.call(),
  ),
  crowd({ name: 'wasm: the same of one in twenty such crowds', unit: 'ms' }, ({ unluckyMs }) => unluckyMs),
  crowd(
    { name: 'wasm: the slowest /health meanwhile', unit: 'ms', goal: { ours: 100 } },
    ({ slowestHealthMs }) => slowestHealthMs,
  ),
  crowd(
    { name: 'wasm: CPU of the node and its sandboxes a second later', unit: '% of one', goal: { ours: 2 } },
    ({ later }) => later.cpuPercent,
  ),
  crowd(
    {
      name: 'wasm: memory of the node and its sandboxes a second later, against one without attacks',
      unit: 'MB',
      goal: { ratio: 1.5 },
    },
    ({ later }) => later.memoryMB,
    (crowd) => crowd.calmMemoryMB(),
  ),
]

export default [
  warm,
  latency,
  cold,
  overrun('a hostile loop is answered after its limit', 'answered'),
  overrun('its process is gone after the limit', 'gone'),
  ...attacks,
] satisfies Bench[]
