import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Bench } from './bench.ts'
import { makeTree, treeBytes } from './fixtures/backup-tree.ts'

const program = fileURLToPath(new URL('./fixtures/backup-archive.ts', import.meta.url))

/** What a run of our side says. */
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
  bench: Omit<Bench, 'setUp' | 'rounds'>,
  kind: 'half incompressible' | 'text',
  sides: (at: (name: string) => string) => Promise<{ ours(): Promise<number>; baseline?(): Promise<number> }>,
): Bench {
  return {
    ...bench,
    rounds: 3,
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

function create(kind: 'half incompressible' | 'text', goal: number): Bench {
  return onTree(
    {
      name: `backup: archive of 1 GiB, ${kind}, against tar and gzip -6`,
      unit: 'MB/s',
      better: 'more',
      goal: { ratio: goal },
    },
    kind,
    async (at) => ({
      async ours() {
        const { seconds } = await archive('create', at('tree'), at('ours.tar.gz'))
        await rm(at('ours.tar.gz'))
        return rate(seconds)
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

const memory = onTree(
  { name: 'backup: memory above idle, archive of 1 GiB', unit: 'MB', better: 'less', goal: { ours: 150 } },
  'half incompressible',
  async (at) => ({
    async ours() {
      const run = await archive('create', at('tree'), at('ours.tar.gz'))
      await rm(at('ours.tar.gz'))
      return run.memory
    },
  }),
)

const restore = onTree(
  {
    name: 'backup: verify and unpack 1 GiB, against tar and sha256sum',
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

export default [create('half incompressible', 2), create('text', 1), memory, restore] satisfies Bench[]
