import type { Socket } from 'node:net'
import { type Test, test } from 'tap'
import {
  askForAll,
  askForArchives,
  costAbove,
  makePhotos,
  startUnread,
  type UnreadNode,
  usedBy,
  warmUp,
} from './unread-answers.ts'

// `npm run test:faults -- unread-answers` has 200 clients.

const skip = process.platform !== 'linux' && 'Only Linux tells the memory of a process in this way.'

test('40 clients that do not read their answers cost at most 30 MiB', { skip }, async (t) => {
  const node = await startUnread(1)
  t.teardown(() => node.end())
  await expectCost(t, node, () => askForAll(node, 40))
})

test('16 archives that two users do not read cost at most 30 MiB', { skip }, async (t) => {
  const node = await startUnread(2)
  t.teardown(() => node.end())
  await makePhotos(node)
  await expectCost(t, node, () => askForArchives(node, '/photos'))
})

async function expectCost(t: Test, node: UnreadNode, askAll: () => readonly Socket[]): Promise<void> {
  // The node has loaded what it needs, and knows the files.
  await warmUp(node, 2)
  const idle = await usedBy(node)
  const sockets = askAll()
  const cost = await costAbove(idle, node, sockets)
  t.ok(cost <= 30, `they cost ${cost.toFixed(0)} MiB`)
  for (const socket of sockets) socket.destroy()
}
