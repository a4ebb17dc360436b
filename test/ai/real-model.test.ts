import { createTestNode } from '@nodekeep/kernel/testing'
import t from 'tap'
import { root } from '../run/command.ts'
import { readEvents } from './fixtures/plugin-fixtures.ts'
import { noRealServerReason, startRealServer } from './fixtures/real-server.ts'

t.test('a real model replies, and a client may cancel its reply', { skip: noRealServerReason }, async (t) => {
  const { provider, config, stop } = await startRealServer()
  t.teardown(stop)
  const node = await createTestNode({
    folder: root,
    config: {
      plugins: { ai: true, [`ai-${provider}`]: true },
      ai: { models: { waitMs: 10_000 } },
      ...config,
    },
  })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const models = (await (await ada.fetch('/api/ai/models')).json()) as {
    providers: Record<string, string[]>
  }
  const [model] = models.providers[provider] ?? []
  t.type(model, 'string', 'the node lists a model')
  const chat = (rest: object) =>
    ada.fetch('/api/ai/chat', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        provider,
        model,
        messages: [{ role: 'user', content: 'Say hello.' }],
        ...rest,
      }),
    })

  const { text, error } = readEvents(await (await chat({ stream: true, maxTokens: 16 })).text())
  t.equal(error, null)
  t.not(text, '')
  const whole = (await (await chat({ maxTokens: 16 })).json()) as {
    message: { content: string }
    usage: object
  }
  t.not(whole.message.content, '')
  t.match(whole.usage, { inputTokens: Number, outputTokens: Number })

  const canceled = await chat({ stream: true, maxTokens: 4000 })
  await canceled.body?.getReader().cancel()
  t.equal((await chat({ maxTokens: 4 })).status, 200, 'the model replies to the next chat')
})
