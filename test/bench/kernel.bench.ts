import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from '../free-ports.ts'
import { root } from '../run/command.ts'
import type { Bench, Goal } from './bench.ts'
import { firstAnswer } from './first-answer.ts'
import { loadHttp } from './http-load.ts'
import { residentMB, startServer } from './process.ts'

const fixture = (name: string) => join(import.meta.dirname, 'fixtures', name)

/** Starts `nodekeep` with a preset on an empty data folder, and takes a measurement after its first answer. */
async function withNode(
  preset: string,
  use: (figures: { startMs: number; pid: number }) => Promise<number>,
): Promise<number> {
  const data = await mkdtemp(join(tmpdir(), 'nodekeep-bench-'))
  const port = await freePort()
  const config = join(root, 'config', preset)
  const options = ['--config', config, '--data', data, '--port', String(port), '--log-level', 'error']
  const began = performance.now()
  const cli = join(root, 'kernel/bin/nodekeep.js')
  const node = spawn(process.execPath, ['--conditions=nodekeep-source', cli, ...options], { stdio: 'ignore' })
  try {
    await firstAnswer(new URL(`http://127.0.0.1:${port}/health`))
    return await use({ startMs: performance.now() - began, pid: node.pid ?? 0 })
  } finally {
    await end(node)
    await rm(data, { recursive: true, force: true })
  }
}

async function end(node: ChildProcess): Promise<void> {
  if (node.exitCode !== null || node.signalCode !== null) return
  const ended = once(node, 'exit')
  node.kill('SIGTERM')
  await ended
}

function start(preset: string, goal?: Goal): Bench {
  return {
    name: `kernel: start to first answer, ${preset}`,
    unit: 'ms',
    better: 'less',
    ...(goal && { goal }),
    setUp: async () => ({ ours: () => withNode(preset, async ({ startMs }) => startMs) }),
  }
}

/** Seconds after which V8 has given back the memory that the start needed. */
const idleSeconds = 3

function idleMemory(preset: string, goal?: Goal): Bench {
  return {
    name: `kernel: idle memory, ${preset}`,
    unit: 'MB',
    better: 'less',
    ...(goal && { goal }),
    rounds: 3,
    fresh: true,
    setUp: async () => ({
      ours: () =>
        withNode(preset, async ({ pid }) => {
          await delay(idleSeconds * 1000)
          return residentMB(pid)
        }),
    }),
  }
}

const pluginRoute: Bench = {
  name: 'kernel: route of a plugin, against a bare Fastify',
  unit: 'requests/s',
  better: 'more',
  goal: { ratio: 0.8 },
  rounds: 3,
  starts: 5,
  setUp: async () => {
    const ours = await startServer(fixture('plugin-route.ts'))
    const bare = await startServer(fixture('bare-fastify.ts'))
    const rate = async (url: URL) => (await loadHttp({ url: new URL('/greeting', url) })).requestsPerSecond
    return {
      ours: () => rate(ours.url),
      baseline: () => rate(bare.url),
      tearDown: async () => {
        await ours.stop()
        await bare.stop()
      },
    }
  },
}

export default [
  start('minimal.json'),
  start('default.json', { ours: 1500 }),
  idleMemory('minimal.json'),
  idleMemory('default.json', { ours: 170 }),
  pluginRoute,
] satisfies Bench[]
