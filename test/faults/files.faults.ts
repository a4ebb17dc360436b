import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Fault, Round } from './fault.ts'
import { checkAgreement, checkLeftovers, matches, readDisk } from './files-check.ts'
import { FilesClient } from './files-client.ts'
import { type FilesProcess, type Session, startFiles } from './files-process.ts'
import { print } from './files-tree.ts'
import { randomOf } from './random.ts'

const clientCount = 6

/** Lets clients change files, and kills the node meanwhile. */
async function disturb(
  node: FilesProcess,
  clients: readonly FilesClient[],
  { random }: Round,
): Promise<void> {
  const running = clients.map((client) => client.run(node))
  // The failure of one client must not be unhandled while the others are awaited.
  const failed = Promise.all(running)
  failed.catch(() => {})
  await delay(random.integer(5, 800))
  await node.kill()
  await failed
}

/** Checks that after a restart, every answered change is complete, and every other change is complete or absent. */
async function check(dataFolder: string, session: Session, clients: readonly FilesClient[]): Promise<void> {
  const node = await startFiles(dataFolder, session)
  try {
    const disk = await readDisk(dataFolder, node)
    for (const [index, client] of clients.entries()) {
      const found = client.allowed.some((tree) => matches(disk, tree, `/c${index}`))
      const allowed = client.allowed.map(print).join('\nor ')
      assert.ok(found, `client ${index} found ${[...disk.keys()]}\ninstead of ${allowed}`)
    }
    await checkAgreement(
      node,
      disk,
      clients.flatMap((client) => client.leftoverParents),
    )
    // The node removes leftovers while it runs, and the rest before it ends.
    await node.stop()
    await checkLeftovers(dataFolder)
  } finally {
    await node.kill()
  }
}

export default {
  name: 'After a node is killed, every answered change is complete, each other one is complete or absent (but for empty parents), and the journal agrees.',
  defaultRounds: 200,
  async round(round) {
    const { seed, log } = round
    const dataFolder = await mkdtemp(join(tmpdir(), 'nodekeep-killed-'))
    try {
      const node = await startFiles(dataFolder)
      const clients = Array.from(
        { length: clientCount },
        (_, index) => new FilesClient(`/c${index}`, randomOf(seed * clientCount + index)),
      )
      try {
        await disturb(node, clients, round)
      } finally {
        await node.kill()
      }
      log(`${clients.reduce((sum, { answered }) => sum + answered, 0)} changes were answered`)
      await check(dataFolder, node.session, clients)
    } finally {
      await rm(dataFolder, { recursive: true, force: true })
    }
  },
} satisfies Fault
