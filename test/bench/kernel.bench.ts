import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from '../free-ports.ts'
import { root } from '../run/command.ts'
import { unpackRelease } from '../update/installed-node.ts'
import { releasesOfRun } from '../update/releases-of-run.ts'
import type { Bench } from './bench.ts'
import { firstAnswer } from './first-answer.ts'
import { loadHttp } from './http-load.ts'
import { residentMB, startServer } from './process.ts'

const fixture = (name: string) => join(import.meta.dirname, 'fixtures', name)

/** The command of the sources. */
const sources = [process.execPath, '--conditions=nodekeep-source', join(root, 'kernel/bin/nodekeep.js')]

/** Starts a command on an empty data folder with a preset, and takes a measurement after its first answer. */
async function withNode<T>(
  [program = '', ...words]: readonly string[],
  preset: string,
  use: (figures: { startMs: number; pid: number }) => Promise<T>,
): Promise<T> {
  const data = await mkdtemp(join(tmpdir(), 'nodekeep-bench-'))
  const port = await freePort()
  const config = join(root, 'config', preset)
  const options = ['--config', config, '--data', data, '--port', String(port), '--log-level', 'error']
  const began = performance.now()
  const node = spawn(program, [...words, ...options], { stdio: 'ignore' })
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

const start: Bench = {
  name: 'kernel: start to first answer, minimal.json',
  unit: 'ms',
  better: 'less',
  setUp: async () => ({ ours: () => withNode(sources, 'minimal.json', async ({ startMs }) => startMs) }),
}

/** Seconds after which V8 has given back the memory that the start needed. */
const idleSeconds = 3

/** The default bundle as people install it, without the translation of sources. */
const release: Bench = {
  name: 'kernel: start to first answer of a release, default.json',
  unit: 'ms',
  better: 'less',
  goal: { ours: 1500 },
  also: [{ name: 'kernel: its idle memory', unit: 'MB', better: 'less', goal: { ours: 170 } }],
  async setUp() {
    const { archive } = await releasesOfRun()
    const folder = await mkdtemp(join(tmpdir(), 'nodekeep-bench-'))
    const command = [join(await unpackRelease(archive, folder), 'bin/nodekeep'), 'start']
    return {
      ours: () =>
        withNode(command, 'default.json', async ({ startMs, pid }) => {
          await delay(idleSeconds * 1000)
          return [startMs, await residentMB(pid)]
        }),
      tearDown: () => rm(folder, { recursive: true, force: true }),
    }
  },
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

export default [start, release, pluginRoute] satisfies Bench[]
