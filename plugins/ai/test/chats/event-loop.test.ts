import t from 'tap'
import { createAiNode } from '../fixtures/ai-node.ts'
import { captureChats } from '../fixtures/captured-chats.ts'
import { scripted, stop, text } from '../fixtures/scripted-provider.ts'

t.test('replies that have everything at hand take turns, and hold nothing else up', async (t) => {
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
  const had: number[] = []
  let mostAtLastBegin = 0
  const read = async () => {
    const { deltas } = await captured.chats.start(user.uuid, query, signal)
    const reader = had.push(0) - 1
    mostAtLastBegin = Math.max(...had)
    for await (const delta of deltas) if (delta.type === 'text') had[reader] = (had[reader] ?? 0) + 1
  }
  await Promise.all(Array.from({ length: 20 }, read))
  running = false
  t.strictSame(had, Array(20).fill(length))
  t.ok(mostAtLastBegin <= 4, `the first had ${mostAtLastBegin} pieces when the last one began`)
  t.ok(turns >= length / 128, `others had ${turns} turns meanwhile`)
})
