import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Bench } from './bench.ts'
import { output } from './fixtures/files-transfers.ts'
import { residentMB, startServer } from './process.ts'

const gigabyte = 2 ** 30

/** Seconds after which V8 has given back the memory that the start needed. */
const idleSeconds = 3

async function inNewFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'nodekeep-bench-'))
  try {
    return await work(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Measures in a process of its own. */
function measured(measurement: 'backend' | 'libraries' | 'small'): Promise<number> {
  return inNewFolder(async (folder) => Number(await output('ipfs-blocks.ts', measurement, folder)))
}

const large: Bench = {
  name: 'ipfs: 1 GiB stored and read, against importer and exporter in memory and a plain write to the disk',
  unit: 'MB/s',
  better: 'more',
  goal: { ratio: 0.8 },
  rounds: 3,
  async setUp() {
    const rate = (seconds: number) => (2 * gigabyte) / 1e6 / seconds
    return {
      ours: async () => rate(await measured('backend')),
      baseline: async () => rate(await measured('libraries')),
    }
  },
}

const small: Bench = {
  name: 'ipfs: a file of 1 KiB stored in a folder of 10,000 entries, p50',
  unit: 'ms',
  better: 'less',
  goal: { ours: 5 },
  rounds: 3,
  setUp: async () => ({ ours: () => measured('small') }),
}

const unused: Bench = {
  name: 'ipfs: start of a node that has the plugin and does not use it, against one without it',
  unit: 'ms',
  better: 'less',
  goal: { ratio: 1.1 },
  also: [
    {
      name: 'ipfs: idle memory of a node that has the plugin and does not use it, against one without it',
      unit: 'MB',
      better: 'less',
      goal: { ratio: 1.05 },
    },
  ],
  async setUp() {
    const measuredNode = (kind: 'with' | 'without') =>
      inNewFolder(async (folder) => {
        const began = performance.now()
        const program = join(import.meta.dirname, 'fixtures/ipfs-node.ts')
        const node = await startServer(program, [join(folder, 'data'), kind], {})
        try {
          const startMs = performance.now() - began
          await delay(idleSeconds * 1000)
          return [startMs, await residentMB(node.pid)]
        } finally {
          await node.stop()
        }
      })
    return { ours: () => measuredNode('with'), baseline: () => measuredNode('without') }
  },
}

export default [large, small, unused] satisfies Bench[]
