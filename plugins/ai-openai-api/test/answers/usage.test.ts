import { test } from 'tap'
import { clientOf, createApiNode, finish, replying, text } from '../fixtures/openai-api-node.ts'

const most = Number.MAX_SAFE_INTEGER
const ask = { model: 'acme/large', messages: [{ role: 'user' as const, content: 'Hello' }] }

test('Sums beyond the greatest safe integer stay at it', async (t) => {
  const usage = { type: 'usage', inputTokens: most, outputTokens: most } as const
  const node = await createApiNode({ acme: replying([text('Hi'), usage, finish()]) })
  t.teardown(() => node.stop())
  const user = await node.signIn()
  const { completions } = clientOf(node, user).chat
  const counts = { prompt_tokens: most, completion_tokens: most, total_tokens: most }
  t.strictSame((await completions.create(ask)).usage, counts)
  const stream = await completions.create({ ...ask, stream: true, stream_options: { include_usage: true } })
  const received = []
  for await (const { usage } of stream) if (usage != null) received.push(usage)
  t.strictSame(received, [counts])
  const report = await user.fetch('/api/ai/usage')
  t.equal(report.status, 200)
  t.match(await report.json(), { usage: [{ requests: 2, inputTokens: most, outputTokens: most }] })
})
