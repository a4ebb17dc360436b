import type { ChatDelta } from '@nodekeep/plugin-sdk'
import t from 'tap'
import { createAiNode } from '../fixtures/ai-node.ts'
import { captureChats } from '../fixtures/captured-chats.ts'
import { scripted, stop, text, usage } from '../fixtures/scripted-provider.ts'

t.test('Replies that are ready at once take turns and do not block the event loop', async (t) => {
  const length = 5000
  const acme = scripted(function* () {
    for (let n = 0; n < length; n += 1) yield text('x')
    yield stop
  })
  const captured = captureChats()
  const ai = { limits: { chatsPerUser: 20 } }
  const node = await createAiNode({ providers: { acme }, ai, plugins: [captured.plugin] })
  t.teardown(() => node.stop())
  const { user } = await node.signIn()
  const { signal } = new AbortController()
  const query = { provider: 'acme', model: 'large', messages: [{ role: 'user', content: 'Hello' }] } as const

  let turns = 0
  let running = true
  const turn = () => {
    turns += 1
    if (running) setImmediate(turn)
  }
  turn()
  const pieceCounts: number[] = []
  let mostAtLastBegin = 0
  const read = async () => {
    const { deltas } = await captured.chats.start(user.uuid, query, signal)
    const reader = pieceCounts.push(0) - 1
    mostAtLastBegin = Math.max(...pieceCounts)
    for await (const delta of deltas)
      if (delta.type === 'text') pieceCounts[reader] = (pieceCounts[reader] ?? 0) + 1
  }
  await Promise.all(Array.from({ length: 20 }, read))
  running = false
  t.strictSame(pieceCounts, Array(20).fill(length))
  t.ok(mostAtLastBegin <= 4, `The first reply pieceCounts ${mostAtLastBegin} pieces when the last one began.`)
  t.ok(turns >= length / 128, `The event loop made ${turns} turns.`)
})

t.test('A flood of pieces that add nothing ends the chat, without retries', async (t) => {
  const nothing: Record<string, ChatDelta> = {
    text: text(''),
    reasoning: { type: 'reasoning', text: '' },
    usage: usage(1, 1),
    'tool-call': { type: 'tool_call', index: 0 },
  }
  for (const [kind, piece] of Object.entries(nothing)) {
    const flooding = scripted(function* () {
      yield { type: 'tool_call', index: 0, id: 'call_0', name: 'clock' }
      for (;;) yield piece
    })
    const captured = captureChats()
    const node = await createAiNode({
      providers: { flooding: Object.assign(flooding, { supports: { tools: true } }) },
      plugins: [captured.plugin],
    })
    t.teardown(() => node.stop())
    const { user } = await node.signIn()
    const query = {
      provider: 'flooding',
      model: 'large',
      messages: [{ role: 'user', content: 'Hello' }],
    } as const
    let turns = 0
    const timer = setInterval(() => {
      turns += 1
    })
    const { deltas } = await captured.chats.start(user.uuid, query, new AbortController().signal)
    await t.rejects(
      Array.fromAsync(deltas),
      { code: 'UPSTREAM_ERROR', permanent: true, message: /events without content/ },
      kind,
    )
    clearInterval(timer)
    t.ok(turns > 10, `Timers fired ${turns} times meanwhile.`)
    t.equal(flooding.calls.length, 1)
    t.ok(flooding.last.signal.aborted)
  }
})
