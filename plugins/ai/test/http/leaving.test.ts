import t, { type Test } from 'tap'
import { createAiNode, usageOf } from '../fixtures/ai-node.ts'
import { rawChat } from '../fixtures/raw-chat.ts'
import { scripted, stop, text } from '../fixtures/scripted-provider.ts'
import { untilStable } from '../fixtures/until-stable.ts'

/** How long an upstream call may outlive its client, in milliseconds. */
const limit = 100

t.test('when the client goes, the call at the provider ends at once', async (t) => {
  const never = new Promise<never>(() => {})
  const providers = {
    // It doesn't listen to its signal, so that what ends the call is the node.
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

  /** Leaves a chat, and tells how long its call went on. */
  const leave = async (t: Test, provider: keyof typeof providers, way: Way, stream: boolean) => {
    const { calls } = providers[provider]
    const before = calls.length
    const { socket, until } = await rawChat(node, ada, { provider, stream })
    if (stream && provider !== 'silent') await until(/"chunk"/)
    while (calls.length === before) await ada.fetch('/api/ai/usage')
    const { last } = providers[provider]
    if (way === 'reads no more and cuts') {
      socket.pause()
      await untilStable(() => last.asked)
    }
    t.notOk(last.signal.aborted)
    const ended = new Promise((resolve) => last.signal.addEventListener('abort', resolve))
    const left = performance.now()
    if (way === 'closes its side') socket.end()
    else socket.destroy()
    await ended
    t.ok(last.returned, 'its iterator was left')
    return performance.now() - left
  }
  // A busy machine can only make it slower, so the fastest of some is what the node needs.
  const leaves = async (t: Test, provider: keyof typeof providers, way: Way, stream = true) => {
    const took: number[] = []
    for (let n = 0; n < 3; n += 1) took.push(await leave(t, provider, way, stream))
    t.ok(Math.min(...took) < limit, `${provider}: ${took.map(Math.round)} ms`)
  }

  for (const way of ['cuts', 'closes its side'] as const) {
    t.test(`${way} before the first piece`, (t) => leaves(t, 'silent', way))
    t.test(`${way} before a whole answer`, (t) => leaves(t, 'silent', way, false))
    t.test(`${way} in the middle of a whole answer`, (t) => leaves(t, 'stalled', way, false))
    t.test(`${way} in a pause`, (t) => leaves(t, 'stalled', way))
    t.test(`${way} while pieces come`, (t) => leaves(t, 'busy', way))
  }
  t.test('reads no more and cuts', (t) => leaves(t, 'endless', 'reads no more and cuts'))

  t.test('and all of it was counted as aborted', async (t) => {
    const rows = await usageOf(ada)
    for (const { provider, requests, aborted } of rows) t.equal(aborted, requests, `${provider}`)
    t.equal(rows.length, 4)
  })
  t.test('and nothing went wrong', async (t) => {
    t.strictSame(
      lines.filter((line) => JSON.parse(line).level >= 40),
      [],
    )
  })
})

type Way = 'cuts' | 'closes its side' | 'reads no more and cuts'
