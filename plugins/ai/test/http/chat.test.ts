import t from 'tap'
import { chat, createAiNode } from '../fixtures/ai-node.ts'
import { replying, scripted, stop, text, usage } from '../fixtures/scripted-provider.ts'

t.test('a streamed reply has exactly the form of the interface', async (t) => {
  const node = await createAiNode({ providers: { acme: replying('Hel', 'lo "you"\n', '✓ 😀') } })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const answer = await chat(ada, { stream: true })
  t.equal(answer.status, 200)
  t.equal(answer.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  t.equal(answer.headers.get('cache-control'), 'no-cache, no-transform')
  t.equal(answer.headers.get('x-accel-buffering'), 'no')
  t.ok(answer.headers.get('x-request-id'))
  t.equal(
    await answer.text(),
    'data: {"chunk":"Hel"}\n\ndata: {"chunk":"lo \\"you\\"\\n"}\n\ndata: {"chunk":"✓ 😀"}\n\ndata: [DONE]\n\n',
  )
})

t.test('a whole reply is one answer', async (t) => {
  const acme = scripted(() => [
    text('Hel'),
    usage(3, 1),
    text('lo'),
    usage(3, 2),
    { ...stop, reason: 'length' },
  ])
  const node = await createAiNode({ providers: { acme } })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  for (const body of [{ stream: false }, {}]) {
    const answer = await chat(ada, { ...body, maxTokens: 5, temperature: 0.5, stop: ['.'] })
    t.equal(answer.status, 200)
    t.strictSame(await answer.json(), {
      message: { role: 'assistant', content: 'Hello' },
      provider: 'acme',
      model: 'large',
      finishReason: 'length',
      usage: { inputTokens: 3, outputTokens: 2 },
    })
    t.strictSame(acme.last.request, {
      model: 'large',
      messages: [{ role: 'user', content: 'Hello' }],
      maxTokens: 5,
      temperature: 0.5,
      stop: ['.'],
    })
  }
})
