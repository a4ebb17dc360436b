import type { ModelScene } from '@nodekeep/plugin-sdk/conformance/ai'
import t, { type Test } from 'tap'
import { question, usageOf } from './fixtures/asking.ts'
import { startStand } from './fixtures/stand.ts'
import { rawChat, untilStable } from './fixtures/tests-of-ai.ts'
import { until } from './fixtures/until.ts'
import type { Wire } from './fixtures/wires.ts'

/** How long a server may be kept writing to somebody who has gone, in milliseconds. */
const limit = 100
const { node, wires } = await startStand(t)

/** Leaves a chat that is under way, and tells how long the server was kept busy with it. */
async function leave(wire: Wire, stream: boolean, scene: ModelScene): Promise<number> {
  const ada = await node.signIn()
  wire.server.play(scene)
  const chats = wire.server.chats()
  const { socket, until: heard } = await rawChat(node, ada, question(wire, { stream }))
  await until(() => wire.server.chats() > chats)
  if (stream && scene.kind === 'stall') await heard(/"chunk"/)
  const left = performance.now()
  socket.destroy()
  await until(() => wire.server.openChats() === 0)
  const took = performance.now() - left
  await until(() => wire.server.chats() > chats)
  const [row] = await usageRow(ada)
  const { requests, aborted, failed } = row ?? {}
  if (requests !== 1 || aborted !== 1 || failed !== 0) throw new Error(`It counts as ${JSON.stringify(row)}.`)
  return took
}

/** What was counted, once it is: a chat is over for its server a moment before it is for the node. */
async function usageRow(ada: Awaited<ReturnType<typeof node.signIn>>) {
  for (;;) {
    const rows = await usageOf(ada)
    if (rows.length > 0) return rows
  }
}

async function isQuick(t: Test, times: () => Promise<number>, what: string): Promise<void> {
  // A busy machine can only make it slower, so the fastest of some is what the node needs.
  const took = [await times(), await times(), await times()]
  t.ok(Math.min(...took) < limit, `${what}: ${took.map(Math.round)} ms`)
}

for (const wire of wires) {
  t.test(`${wire.provider}: who goes takes the call at the server along`, async (t) => {
    const silence: ModelScene = { kind: 'silence' }
    const stall: ModelScene = { kind: 'stall', text: ['The capital', ' is'] }
    await isQuick(t, () => leave(wire, true, silence), 'before the first piece')
    await isQuick(t, () => leave(wire, false, silence), 'before a whole answer')
    await isQuick(t, () => leave(wire, true, stall), 'in mid-reply')
    await isQuick(t, () => leave(wire, false, stall), 'in the middle of a whole answer')
  })

  t.test(`${wire.provider}: who reads slowly slows the server down, and fills no memory`, async (t) => {
    const ada = await node.signIn()
    const poured = wire.endless()
    const { socket, until: heard } = await rawChat(node, ada, question(wire, { stream: true }))
    await heard(/"chunk"/)
    socket.pause()
    const before = await untilStable(() => poured.bytes)
    // What the system keeps for the two connections, on both sides of each, is some megabytes.
    t.ok(before < 32 * 1024 * 1024, `${before} bytes were taken for nobody`)
    socket.resume()
    await until(() => poured.bytes > before + 1024 * 1024)
    t.pass('the server goes on when the client does')
    socket.pause()
    await untilStable(() => poured.bytes)
    const left = performance.now()
    socket.destroy()
    await until(() => wire.server.openChats() === 0)
    t.ok(performance.now() - left < 5 * limit, 'and ends when it has gone')
    t.match(await usageRow(ada), [{ requests: 1, aborted: 1, failed: 0, estimated: 1 }])
  })
}
