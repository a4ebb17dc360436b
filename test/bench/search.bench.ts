import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Bench, Figure } from './bench.ts'
import { output } from './fixtures/files-transfers.ts'
import { residentMB, startServer } from './process.ts'

/** Texts of 20 KB: together they have 2 GB. */
const files = 100_000

/** Seconds after which V8 has given back the memory that the start needed, and the search what it needed to look at all users. */
const idleSeconds = 45

async function inNewFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'nodekeep-bench-'))
  try {
    return await work(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** How much longer people wait. */
function whileIndexing(percentile: string, goal?: Figure['goal']): Figure[] {
  return ['a write of 1 KiB', 'a read of 1 KiB', 'a reply of a model'].map((action) => ({
    name: `search: ${action} while texts are indexed, ${percentile}, against one while none are`,
    unit: 'times',
    better: 'less',
    ...(goal && { goal }),
  }))
}

const texts: Bench = {
  name: 'search: 100,000 texts, 2 GB, can be found',
  unit: 's',
  better: 'less',
  goal: { ours: 900 },
  rounds: 1,
  fresh: true,
  also: [
    { name: 'search: a search among 100,000 texts, p50', unit: 'ms', better: 'less', goal: { ours: 50 } },
    { name: 'search: a search among 100,000 texts, p95', unit: 'ms', better: 'less' },
    { name: 'search: index, as a share of the texts', unit: '%', better: 'less', goal: { ours: 40 } },
    ...whileIndexing('p50', { ours: 1.1 }),
    ...whileIndexing('p95'),
  ],
  setUp: async () => ({
    ours: () =>
      inNewFolder(async (folder) => JSON.parse(await output('search-texts.ts', folder, String(files)))),
  }),
}

const idle: Bench = {
  name: 'search: idle memory of a node that has the plugin, against one without it',
  unit: 'MB',
  better: 'less',
  goal: { ratio: 1.01 },
  rounds: 3,
  async setUp() {
    const measured = (kind: 'with' | 'without') =>
      inNewFolder(async (folder) => {
        const node = await startServer(join(import.meta.dirname, 'fixtures/search-node.ts'), [
          join(folder, 'data'),
          kind,
        ])
        try {
          await delay(idleSeconds * 1000)
          return await residentMB(node.pid)
        } finally {
          await node.stop()
        }
      })
    return { ours: () => measured('with'), baseline: () => measured('without') }
  },
}

export default [texts, idle] satisfies Bench[]
