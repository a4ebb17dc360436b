import type { ModelScene } from '@nodekeep/plugin-sdk/conformance/ai'
import t, { type Test } from 'tap'
import { startAiNode } from './fixtures/ai-node.ts'
import { chatBody, usageOf } from './fixtures/chat.ts'
import { rawChat, untilStable } from './fixtures/plugin-fixtures.ts'
import { until } from './fixtures/until.ts'
import type { Wire } from './fixtures/wires.ts'

/** Milliseconds for which a server may keep writing after its client disconnected. */
const limitMs = 100
const { node, wires } = await startAiNode(t)

/** Disconnects during a chat, and returns the milliseconds until the server's chat ends. */
async function disconnect(wire: Wire, stream: boolean, scene: ModelScene): Promise<number> {
  const ada = await node.signIn()
  wire.server.play(scene)
  const chats = wire.server.chats()
  const { socket, until: untilReceived } = await rawChat(node, ada, chatBody(wire, { stream }))
  await until(() => wire.server.chats() > chats)
  if (stream && scene.kind === 'stall') await untilReceived(/"chunk"/)
  const since = performance.now()
  socket.destroy()
  await until(() => wire.server.openChats() === 0)
  const took = performance.now() - since
  await until(() => wire.server.chats() > chats)
  const [row] = await usageRow(ada)
  const { requests, aborted, failed } = row ?? {}
  if (requests !== 1 || aborted !== 1 || failed !== 0) throw new Error(`It counts as ${JSON.stringify(row)}.`)
  return took
}

/** Waits for the usage of a user: a chat ends for its server a moment before it ends for the node. */
async function usageRow(ada: Awaited<ReturnType<typeof node.signIn>>) {
  for (;;) {
    const rows = await usageOf(ada)
    if (rows.length > 0) return rows
  }
}

async function checkDuration(t: Test, times: () => Promise<number>, name: string): Promise<void> {
  // A busy machine can only slow the node down, so the fastest of three times counts.
  const took = [await times(), await times(), await times()]
  t.ok(Math.min(...took) < limitMs, `${name}: ${took.map(Math.round)} ms`)
}

for (const wire of wires) {
  t.test(`${wire.provider}: a client that disconnects ends the call to the server`, async (t) => {
    const silence: ModelScene = { kind: 'silence' }
    const stall: ModelScene = { kind: 'stall', text: ['The capital', ' is'] }
    await checkDuration(t, () => disconnect(wire, true, silence), 'before the first piece')
    await checkDuration(t, () => disconnect(wire, false, silence), 'before a whole answer')
    await checkDuration(t, () => disconnect(wire, true, stall), 'in the middle of a streamed answer')
    await checkDuration(t, () => disconnect(wire, false, stall), 'in the middle of a whole answer')
  })

  t.test(`${wire.provider}: a server waits for a slow client, and the memory stays small`, async (t) => {
    const ada = await node.signIn()
    const written = wire.endless()
    const { socket, until: untilReceived } = await rawChat(node, ada, chatBody(wire, { stream: true }))
    await untilReceived(/"chunk"/)
    socket.pause()
    const before = await untilStable(() => written.bytes)
    // The buffers of the system for both sides of the two connections take some megabytes.
    t.ok(before < 32 * 1024 * 1024, `${before} bytes were read for a paused client`)
    socket.resume()
    await until(() => written.bytes > before + 1024 * 1024)
    t.pass('the server continues when the client does')
    socket.pause()
    await untilStable(() => written.bytes)
    const since = performance.now()
    socket.destroy()
    await until(() => wire.server.openChats() === 0)
    t.ok(performance.now() - since < 5 * limitMs, 'the server ends after the client disconnected')
    t.match(await usageRow(ada), [{ requests: 1, aborted: 1, failed: 0, estimated: 1 }])
  })
}
