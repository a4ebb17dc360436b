import { createTestNode } from '@nodekeep/kernel/testing'
import t from 'tap'
import { root } from '../run/command.ts'
import { noRealServer, realServer } from './fixtures/real-server.ts'
import { readEvents } from './fixtures/tests-of-ai.ts'

t.test('a real model replies, streamed or not, and can be left', { skip: noRealServer }, async (t) => {
  const { provider, config, stop } = await realServer()
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
  const models = (await (await ada.fetch('/api/ai/models')).json()) as { providers: Record<string, string[]> }
  const [model] = models.providers[provider] ?? []
  t.type(model, 'string', 'it lists a model')
  const ask = (rest: object) =>
    ada.fetch('/api/ai/chat', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ provider, model, messages: [{ role: 'user', content: 'Say hello.' }], ...rest }),
    })

  const { text, error } = readEvents(await (await ask({ stream: true, maxTokens: 16 })).text())
  t.equal(error, null)
  t.not(text, '')
  const whole = (await (await ask({ maxTokens: 16 })).json()) as {
    message: { content: string }
    usage: object
  }
  t.not(whole.message.content, '')
  t.match(whole.usage, { inputTokens: Number, outputTokens: Number })

  const left = await ask({ stream: true, maxTokens: 4000 })
  await left.body?.getReader().cancel()
  t.equal((await ask({ maxTokens: 4 })).status, 200, 'it replies to the next one')
})
