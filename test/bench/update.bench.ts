import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { InstalledNode } from '../update/installed-node.ts'
import type { ReleaseServer } from '../update/release-server.ts'
import { releasesOfRun } from '../update/releases-of-run.ts'
import type { Bench } from './bench.ts'
import { residentMB } from './process.ts'

const databaseMB = 100

/** Measures an installed node and a repository of real releases. */
function onInstalledNode(
  bench: Omit<Bench, 'setUp' | 'better'>,
  measure: (node: InstalledNode, server: ReleaseServer) => Promise<number | readonly number[]>,
): Bench {
  return {
    ...bench,
    better: 'less',
    async setUp() {
      const server = await releasesOfRun()
      const node = await InstalledNode.install(server)
      return { ours: () => measure(node, server), tearDown: () => node.remove() }
    },
  }
}

/** Makes the node's database this large, with rows of a table that the node does not know. */
async function fill(node: InstalledNode): Promise<void> {
  const database = new DatabaseSync(join(node.folder, 'data/state.sqlite'), { timeout: 10_000 })
  try {
    database.exec('CREATE TABLE IF NOT EXISTS ballast (content BLOB)')
    const { rows } = database.prepare('SELECT count(*) AS rows FROM ballast').get() as { rows: number }
    const insert = database.prepare('INSERT INTO ballast VALUES (randomblob(1000000))')
    for (let row = rows; row < databaseMB; row += 1) insert.run()
  } finally {
    database.close()
  }
}

let newest = 1

const wait = onInstalledNode(
  {
    name: `update: longest answer to a client that polls every 10 ms, database of ${databaseMB} MB`,
    unit: 'ms',
    goal: { ours: 3000 },
    rounds: 3,
  },
  async (node, server) => {
    await fill(node)
    newest += 1
    await server.publish(`0.2.${newest}`)
    const before = (await node.history()).length
    const { failures, longestMs } = await node.during(async () => {
      const { status, body } = await node.update()
      if (status !== 200) throw new Error(`The update was refused: ${body.message}`)
      const { result, reason } = await node.attempt(before + 1)
      if (result !== 'installed') throw new Error(`The update failed: ${reason}`)
    })
    if (failures.length > 0) throw new Error(`Clients were refused: ${failures.join(', ')}`)
    await node.ask('/api/update/back', { method: 'POST' })
    await node.attempt(before + 2)
    return longestMs
  },
)

const check = onInstalledNode(
  {
    name: 'update: a check for a new version',
    unit: 'ms',
    goal: { ours: 300 },
    also: [{ name: 'update: memory of the supervisor', unit: 'MB', better: 'less', goal: { ours: 60 } }],
  },
  async (node) => {
    const began = performance.now()
    const { status } = await node.ask('/api/update/check', { method: 'POST' })
    if (status !== 200) throw new Error(`The check was answered with ${status}.`)
    return [performance.now() - began, await residentMB(node.pid)]
  },
)

export default [wait, check] satisfies Bench[]
