import t, { type Test } from 'tap'
import { createAiNode, usageOf } from '../fixtures/ai-node.ts'
import { rawChat } from '../fixtures/raw-chat.ts'
import { scripted, stop, text } from '../fixtures/scripted-provider.ts'
import { untilStable } from '../fixtures/until-stable.ts'

/** Milliseconds that an upstream call may outlive its client. */
const limit = 100

t.test('The call at the provider ends at once when the client closes the connection', async (t) => {
  const never = new Promise<never>(() => {})
  const providers = {
    // It ignores its signal, so that only the node can end the call.
    silent: scripted(async function* () {
      await never
      yield stop
    }),
    stalled: scripted(async function* () {
      yield text('so far')
      await never
    }),
    busy: scripted(async function* () {
      for (;;) {
        yield text('x'.repeat(10_000))
        await new Promise((resolve) => setImmediate(resolve))
      }
    }),
    endless: scripted(function* () {
      for (;;) yield text('x'.repeat(10_000))
    }),
  }
  const lines: string[] = []
  const node = await createAiNode({ providers, onLog: (line) => lines.push(line) })
  t.teardown(() => node.stop())
  const ada = await node.signIn()

  /** Closes the connection of a chat and returns the milliseconds until its call ended. */
  const leave = async (t: Test, provider: keyof typeof providers, way: Way, stream: boolean) => {
    const { calls } = providers[provider]
    const before = calls.length
    const { socket, until } = await rawChat(node, ada, { provider, stream })
    if (stream && provider !== 'silent') await until(/"chunk"/)
    while (calls.length === before) await ada.fetch('/api/ai/usage')
    const { last } = providers[provider]
    if (way === 'stops reading and cuts') {
      socket.pause()
      await untilStable(() => last.asked)
    }
    t.notOk(last.signal.aborted)
    const ended = new Promise((resolve) => last.signal.addEventListener('abort', resolve))
    const closedAt = performance.now()
    if (way === 'closes its side') socket.end()
    else socket.destroy()
    await ended
    t.ok(last.returned, 'The node called `return` of the iterator.')
    return performance.now() - closedAt
  }
  // A busy machine only makes the end slower, so the fastest of three ends is the time of the node.
  const leaves = async (t: Test, provider: keyof typeof providers, way: Way, stream = true) => {
    const took: number[] = []
    for (let n = 0; n < 3; n += 1) took.push(await leave(t, provider, way, stream))
    t.ok(Math.min(...took) < limit, `${provider}: ${took.map(Math.round)} ms`)
  }

  for (const way of ['cuts', 'closes its side'] as const) {
    t.test(`A client that ${way} before the first piece ends the call`, (t) => leaves(t, 'silent', way))
    t.test(`A client that ${way} before a whole answer ends the call`, (t) => leaves(t, 'silent', way, false))
    t.test(`A client that ${way} in the middle of a whole answer ends the call`, (t) =>
      leaves(t, 'stalled', way, false),
    )
    t.test(`A client that ${way} in a pause ends the call`, (t) => leaves(t, 'stalled', way))
    t.test(`A client that ${way} while pieces arrive ends the call`, (t) => leaves(t, 'busy', way))
  }
  t.test('A client that stops reading and cuts ends the call', (t) =>
    leaves(t, 'endless', 'stops reading and cuts'),
  )

  t.test('All these chats are counted as aborted', async (t) => {
    const rows = await usageOf(ada)
    for (const { provider, requests, aborted } of rows) t.equal(aborted, requests, `${provider}`)
    t.equal(rows.length, 4)
  })
  t.test('The log has no warnings', async (t) => {
    t.strictSame(
      lines.filter((line) => JSON.parse(line).level >= 40),
      [],
    )
  })
})

type Way = 'cuts' | 'closes its side' | 'stops reading and cuts'
