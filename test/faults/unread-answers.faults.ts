import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import type { Fault } from './fault.ts'
import {
  askForAll,
  askForArchives,
  costAbove,
  expectBack,
  makeDeepFiles,
  makePhotos,
  startUnread,
  type UnreadNode,
  usedBy,
  warmUp,
} from './unread-answers.ts'

/** Mebibytes for all clients together, and what may be left of them when they have gone. */
const allowance = 100
const rest = 60

/** Runs clients that read nothing on a node that has been in use. */
async function withNode(
  users: number,
  what: string,
  log: (line: string) => void,
  run: (
    node: UnreadNode,
    idle: number,
  ) => Promise<{ readonly sockets: readonly Socket[]; readonly cost: number }>,
): Promise<void> {
  const node = await startUnread(users)
  try {
    const idle = await warmUp(node)
    const { sockets, cost } = await run(node, await usedBy(node))
    log(`${what}: ${cost.toFixed(0)} MiB`)
    assert.ok(cost <= allowance, `${what} cost ${cost.toFixed(0)} MiB`)
    for (const socket of sockets) socket.destroy()
    await expectBack(node, idle, rest)
  } finally {
    await node.end()
  }
}

/** Asks for 200 archives with the longest paths. A user who reads gets an archive meanwhile. */
async function deepArchives(node: UnreadNode, idle: number) {
  await makeDeepFiles(node)
  const reader = node.sessions.at(-1)
  assert.ok(reader)
  const sockets = askForArchives({ ...node, sessions: node.sessions.slice(0, -1) }, '/deep')
  const answer = fetch(new URL('/api/files/archive?path=/deep', node.url), {
    headers: { authorization: `Bearer ${reader.token}` },
  })
  const read = answer.then(async ({ status, body }) => {
    let bytes = 0
    for await (const chunk of body ?? []) bytes += chunk.length
    return { status, bytes }
  })
  let isRead = false
  const ended = () => {
    isRead = true
  }
  read.then(ended, ended)
  let cost = 0
  while (!isRead) cost = Math.max(cost, (await usedBy(node)) - idle)
  const { status, bytes } = await read
  assert.equal(status, 200)
  assert.ok(bytes > 2 * 1000 * 3374, 'the archive of the user who reads is complete')
  return { sockets, cost }
}

export default {
  name: '200 clients that do not read their answers cost at most 100 MiB, which go back when they leave.',
  defaultRounds: 1,
  roundSeconds: 600,
  ...(process.platform !== 'linux' && { missing: 'Only Linux tells the memory of a process in this way.' }),
  async round({ log }) {
    await withNode(1, '200 answers of all kinds', log, async (node, idle) => {
      const sockets = askForAll(node, 200)
      return { sockets, cost: await costAbove(idle, node, sockets) }
    })
    await withNode(25, '200 archives of photos', log, async (node, idle) => {
      await makePhotos(node)
      const sockets = askForArchives(node, '/photos')
      return { sockets, cost: await costAbove(idle, node, sockets.slice(0, 40)) }
    })
    await withNode(26, '200 archives of files with long paths', log, deepArchives)
  },
} satisfies Fault
