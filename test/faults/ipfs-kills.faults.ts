import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Fault, Round } from './fault.ts'
import { checkAgreement, type Disk, listedTree, matches, settled } from './files-check.ts'
import { FilesClient } from './files-client.ts'
import { type FilesProcess, type Session, startFiles } from './files-process.ts'
import { print } from './files-tree.ts'
import { checkBlocks } from './fixtures/blocks-check.ts'
import { type Random, randomOf } from './random.ts'

const clientCount = 6

/** Kills in a round. Each one comes upon what the one before left. */
const kills = 3

function start(dataFolder: string, session?: Session): Promise<FilesProcess> {
  return startFiles(dataFolder, session, { environment: { FILES_IPFS: '/' } })
}

/** Returns the user's files, as the node shows them. */
async function readFiles(node: FilesProcess): Promise<Disk> {
  const headers = { authorization: `Bearer ${node.session.token}` }
  const found = new Map<string, Buffer | null>()
  for (const [path, size] of await listedTree(node)) {
    if (size === null) {
      found.set(path, null)
      continue
    }
    const answer = await fetch(new URL(`/read?path=${encodeURIComponent(path)}`, node.url), { headers })
    assert.equal(answer.status, 200, `${path} can be read`)
    found.set(path, Buffer.from(await answer.arrayBuffer()))
  }
  return found
}

/** Lets clients with folders of their own change files, kills the node meanwhile, and checks all after a restart. */
async function play(
  dataFolder: string,
  node: FilesProcess,
  kill: number,
  round: Round,
): Promise<FilesProcess> {
  const { random, seed } = round
  const clients = Array.from({ length: clientCount }, (_, index) => {
    const number = kill * clientCount + index
    return new FilesClient(`/c${number}`, randomOf((seed * kills + kill) * clientCount + index))
  })
  const running = Promise.all(clients.map((client) => client.run(node)))
  // The failure of one client must not be unhandled while the others are awaited.
  running.catch(() => {})
  const answered = () => clients.reduce((sum, client) => sum + client.answered, 0)
  await Promise.race([amidChanges(answered, random), running])
  await node.kill()
  await running
  round.log(`${answered()} changes were answered`)
  checkBlocks(dataFolder)
  const again = await start(dataFolder, node.session)
  try {
    await settled(again, round.signal)
    const found = await readFiles(again)
    for (const [index, client] of clients.entries()) {
      const folder = `/c${kill * clientCount + index}`
      const isAllowed = client.allowed.some((tree) => matches(found, tree, folder))
      const paths = [...found.keys()].filter((path) => path.startsWith(folder))
      assert.ok(isAllowed, `${folder} has ${paths}\ninstead of ${client.allowed.map(print).join('\nor ')}`)
    }
    await checkAgreement(
      again,
      found,
      clients.flatMap((client) => client.leftoverParents),
    )
    for (const path of found.keys()) if (path.lastIndexOf('/') === 0) await remove(again, path)
    return again
  } catch (error) {
    await again.kill()
    throw error
  }
}

/** Waits until clients got answers to some changes, and then for a moment in the middle of others. */
async function amidChanges(answered: () => number, random: Random): Promise<void> {
  const wanted = random.integer(0, 100)
  while (answered() < wanted) await delay(5)
  await delay(random.integer(0, 300))
}

async function remove({ url, session }: FilesProcess, path: string): Promise<void> {
  const answer = await fetch(new URL('/delete', url), {
    method: 'POST',
    headers: { authorization: `Bearer ${session.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ path }),
  })
  assert.equal(answer.status, 200, await answer.text())
}

export default {
  name: 'With all files as IPFS blocks, after kills of the node every answered change is complete, each other one is complete or absent (but for empty parents), the journal agrees, and the blocks are whole.',
  defaultRounds: 60,
  // The start waits for storages, and the journal is tried again after 30 s.
  roundSeconds: 300,
  async round(round) {
    const dataFolder = await mkdtemp(join(tmpdir(), 'nodekeep-ipfs-kills-'))
    let node = await start(dataFolder)
    try {
      for (let kill = 0; kill < kills; kill += 1) node = await play(dataFolder, node, kill, round)
      await node.stop()
      checkBlocks(dataFolder)
    } finally {
      await node.kill()
      await rm(dataFolder, { recursive: true, force: true })
    }
  },
} satisfies Fault
