import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { ask, backupProgram } from '../faults/backup-client.ts'
import { type FilesProcess, startFiles } from '../faults/files-process.ts'
import { memoryOf, peakWhile } from '../faults/files-transfer.ts'
import type { Bench, BenchRun, Figure } from './bench.ts'
import { makeTree, treeBytes } from './fixtures/backup-tree.ts'

const program = fileURLToPath(new URL('./fixtures/backup-archive.ts', import.meta.url))

/** The figures of a run of our side. */
interface Run {
  readonly seconds: number
  readonly memory: number
}

async function archive(...args: readonly string[]): Promise<Run> {
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--conditions=nodekeep-source',
    program,
    ...args,
  ])
  return JSON.parse(stdout)
}

/** Runs shell commands, and returns the seconds. */
async function shell(commands: string, ...args: readonly string[]): Promise<number> {
  const began = performance.now()
  await promisify(execFile)('sh', ['-c', `set -e; ${commands}`, 'sh', ...args], { maxBuffer: 2 ** 30 })
  return (performance.now() - began) / 1000
}

/** Measures with a tree of files, in a folder that goes afterwards. */
function onTree(
  bench: Omit<Bench, 'setUp' | 'rounds' | 'fresh'>,
  kind: 'half incompressible' | 'text',
  sides: (at: (name: string) => string) => Promise<BenchRun>,
): Bench {
  return {
    ...bench,
    rounds: 3,
    fresh: true,
    async setUp() {
      const folder = await mkdtemp(join(tmpdir(), 'nodekeep-bench-backup-'))
      const at = (name: string) => join(folder, name)
      await mkdir(at('tree'))
      await makeTree(at('tree'), kind)
      await shell('sync')
      return { ...(await sides(at)), tearDown: () => rm(folder, { recursive: true, force: true }) }
    },
  }
}

const rate = (seconds: number) => treeBytes / 1e6 / seconds

function create(kind: 'half incompressible' | 'text', goal: number, also: readonly Figure[] = []): Bench {
  return onTree(
    {
      name: `backup: archive of 512 MiB, ${kind}, against tar and gzip -6`,
      unit: 'MB/s',
      better: 'more',
      goal: { ratio: goal },
      also,
    },
    kind,
    async (at) => ({
      async ours() {
        const { seconds, memory } = await archive('create', at('tree'), at('ours.tar.gz'))
        await rm(at('ours.tar.gz'))
        return [rate(seconds), memory]
      },
      async baseline() {
        const commands = 'tar -c -C "$1" . | gzip -6 > "$2"; sync "$2"'
        const seconds = await shell(commands, at('tree'), at('tar.tar.gz'))
        await rm(at('tar.tar.gz'))
        return rate(seconds)
      },
    }),
  )
}

const memory: Figure = {
  name: 'backup: memory above idle, archive of 512 MiB',
  unit: 'MB',
  better: 'less',
  goal: { ours: 150 },
}

const restore = onTree(
  {
    name: 'backup: verify and unpack 512 MiB, against tar and sha256sum',
    unit: 'MB/s',
    better: 'more',
    goal: { ratio: 0.8 },
  },
  'half incompressible',
  async (at) => {
    await archive('create', at('tree'), at('made.tar.gz'))
    return {
      async ours() {
        const { seconds } = await archive('unpack', at('made.tar.gz'), at('ours'))
        await rm(at('ours'), { recursive: true })
        return rate(seconds)
      },
      async baseline() {
        await mkdir(at('tar'))
        const commands = 'cd "$2"; tar -xzf "$1"; sha256sum --quiet -c SHA256SUMS'
        const seconds = await shell(commands, at('made.tar.gz'), at('tar'))
        await rm(at('tar'), { recursive: true })
        return rate(seconds)
      },
    }
  },
)

const gateProgram = fileURLToPath(new URL('./fixtures/backup-gate.ts', import.meta.url))

/** Files of a storage whose snapshot writers wait for. */
const gateFiles = 100_000

const gate: Bench = {
  name: `backup: longest wait of a writer at the snapshot of ${gateFiles.toLocaleString('en')} files`,
  unit: 'ms',
  better: 'less',
  goal: { ours: 200 },
  rounds: 3,
  fresh: true,
  async setUp() {
    const folder = await mkdtemp(join(tmpdir(), 'nodekeep-bench-backup-'))
    return {
      async ours() {
        const args = ['--conditions=nodekeep-source', gateProgram, folder, `${gateFiles}`]
        const { stdout } = await promisify(execFile)(process.execPath, args)
        return (JSON.parse(stdout) as { ms: number }).ms
      },
      tearDown: () => rm(folder, { recursive: true, force: true }),
    }
  },
}

/** The effects of a backup on clients. */
interface Noticed {
  /** The latencies of `GET /health`, in milliseconds, in their order. */
  readonly health: readonly number[]
  /** The longest time of a write of 1 KiB, in milliseconds. */
  readonly longestWrite: number
}

/** Runs clients of a node until work has ended: one that asks for its health every 20 ms, and four that write. */
async function clientsWhile({ url, session }: FilesProcess, work: Promise<unknown>): Promise<Noticed> {
  let isOver = false
  const timed = async (target: string, init: RequestInit = {}) => {
    const since = performance.now()
    const answer = await fetch(new URL(target, url), init)
    await answer.arrayBuffer()
    if (!answer.ok) throw new Error(`${target} was answered with ${answer.status}.`)
    return performance.now() - since
  }
  const health: number[] = []
  const asking = async () => {
    while (!isOver) {
      health.push(await timed('/health'))
      await delay(20)
    }
  }
  let longestWrite = 0
  const headers = { authorization: `Bearer ${session.token}` }
  const writing = async (_: unknown, writer: number) => {
    for (let round = 0; !isOver; round += 1) {
      const target = `/write?path=/writer-${writer}/${round % 100}`
      const ms = await timed(target, { method: 'PUT', body: `${round}`.padEnd(1024), headers })
      longestWrite = Math.max(longestWrite, ms)
    }
  }
  const clients = [asking(), ...Array.from({ length: 4 }, writing)]
  try {
    await Promise.race([work, Promise.all(clients)])
  } finally {
    isOver = true
    await Promise.allSettled(clients)
  }
  await Promise.all(clients)
  return { health: health.sort((a, b) => a - b), longestWrite }
}

/** A node with 512 MiB of files makes a backup while clients use it. */
const beside: Bench = {
  name: 'backup: p99 of /health while a node backs up 512 MiB',
  unit: 'ms',
  better: 'less',
  goal: { ours: 100 },
  also: [
    {
      name: 'backup: longest write of 1 KiB while a node backs up 512 MiB',
      unit: 'ms',
      better: 'less',
      goal: { ours: 200 },
    },
    {
      name: 'backup: memory above idle of a node that backs up 512 MiB beside clients',
      unit: 'MB',
      better: 'less',
      goal: { ours: 150 },
    },
  ],
  rounds: 3,
  async setUp() {
    const folder = await mkdtemp(join(tmpdir(), 'nodekeep-bench-backup-'))
    const node = await startFiles(folder, undefined, { program: backupProgram })
    const backup = async () => {
      const made = await ask(node, '/api/backup/create', { method: 'POST' })
      if (!made?.ok) throw new Error(`The backup failed: ${await made?.text()}`)
      const { filename } = (await made.json()) as { filename: string }
      await ask(node, `/api/backup/${filename}`, { method: 'DELETE' })
    }
    await mkdir(join(folder, 'files', node.session.uuid), { recursive: true })
    await makeTree(join(folder, 'files', node.session.uuid), 'half incompressible')
    await shell('sync')
    return {
      async ours() {
        const idle = await memoryOf(node.pid)
        const clients = clientsWhile(node, backup())
        const peak = await peakWhile(node.pid, clients)
        const { health, longestWrite } = await clients
        const p99 = health[Math.floor(health.length * 0.99)] as number
        return [p99, longestWrite, ((peak - idle) * 1024 ** 2) / 1e6]
      },
      async tearDown() {
        await node.stop()
        await rm(folder, { recursive: true, force: true })
      },
    }
  },
}

export default [
  create('half incompressible', 2, [memory]),
  create('text', 1),
  restore,
  gate,
  beside,
] satisfies Bench[]
