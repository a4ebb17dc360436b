import t from 'tap'
import { chat, createAiNode, usageOf } from '../fixtures/ai-node.ts'
import { scripted, stop, text, usage } from '../fixtures/scripted-provider.ts'

const most = Number.MAX_SAFE_INTEGER

t.test('Sums beyond the greatest safe integer stay at it, also when stored', async (t) => {
  const acme = scripted(() => [text('x'), usage(most, most), stop])
  const dataFolder = t.testdir()
  const ai = { limits: { tokensPerDay: most } }
  const first = await createAiNode({ providers: { acme }, dataFolder })
  t.teardown(() => first.stop())
  const ada = await first.signIn()
  for (const model of ['large', 'large', 'small']) t.equal((await chat(ada, { model })).status, 200)
  const tokens = { inputTokens: most, outputTokens: most }
  const expected = [
    { model: 'large', requests: 2, ...tokens },
    { model: 'small', requests: 1, ...tokens },
  ]
  t.match(await usageOf(ada), expected)
  await first.stop()

  const second = await createAiNode({ providers: { acme }, dataFolder, ai })
  t.teardown(() => second.stop())
  const owner = await second.signIn('owner')
  t.match(await usageOf(owner, `?user=${ada.user.uuid}`), expected)
  t.equal((await chat(owner)).status, 200)
  t.equal((await chat(owner)).status, 429, 'The user reaches the limit of tokens.')
})
