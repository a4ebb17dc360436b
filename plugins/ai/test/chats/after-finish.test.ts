import t from 'tap'
import { chat, createAiNode, usageOf } from '../fixtures/ai-node.ts'
import { scripted, stop, text, usage } from '../fixtures/scripted-provider.ts'

t.test('A reply ends at its finish, even if its provider goes on', async (t) => {
  const never = new Promise<never>(() => {})
  const providers = {
    'goes-on': scripted(function* () {
      yield* [text('all'), usage(1, 1), stop, text('more'), usage(9, 9), { ...stop, reason: 'length' }]
    }),
    'never-ends': scripted(async function* () {
      yield* [text('all'), usage(1, 1), stop]
      await never
    }),
    throws: scripted(function* () {
      yield* [text('all'), usage(1, 1), stop]
      throw new Error('late')
    }),
    'yields-garbage': scripted(() => [text('all'), usage(1, 1), stop, null]),
  }
  const node = await createAiNode({ providers, ai: { limits: { chatsPerUser: 1 } } })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  for (const [provider, { calls }] of Object.entries(providers)) {
    const answer = await chat(ada, { provider, stream: true })
    t.equal(await answer.text(), 'data: {"chunk":"all"}\n\ndata: [DONE]\n\n', provider)
    t.match(await (await chat(ada, { provider })).json(), {
      message: { content: 'all' },
      finishReason: 'stop',
      usage: { inputTokens: 1, outputTokens: 1 },
    })
    const aborts = calls.map(({ signal }) =>
      signal.aborted ? undefined : new Promise((resolve) => signal.addEventListener('abort', resolve)),
    )
    if (provider === 'throws') t.notOk(calls.some(({ signal }) => signal.aborted))
    else await Promise.all(aborts)
  }
  for (const row of await usageOf(ada)) {
    t.match(row, { requests: 2, failed: 0, aborted: 0, inputTokens: 2, outputTokens: 2, estimated: 0 })
  }
})
