import type OpenAI from 'openai'
import { test } from 'tap'
import { clientOf, createApiNode, finish, replying, text } from '../fixtures/openai-api-node.ts'

const part = (value: string) => ({ type: 'text' as const, text: value })
const hello = [part('Hello'), part('World')]
const pixel = 'data:image/png;base64,iVBORw0KGgo='

test('Several text parts stay separate', async (t) => {
  const provider = replying([text('Hi'), finish()])
  const node = await createApiNode({ acme: provider })
  t.teardown(() => node.stop())
  const { completions } = clientOf(node, await node.signIn()).chat
  const call = { id: 'call_0', name: 'look', arguments: '{}' }
  const messages: OpenAI.ChatCompletionMessageParam[] = [
    { role: 'system', content: hello },
    { role: 'developer', content: hello },
    { role: 'user', content: hello },
    { role: 'user', content: [...hello, { type: 'image_url', image_url: { url: pixel } }] },
    { role: 'assistant', content: hello },
    { role: 'assistant', content: hello, refusal: 'No.' },
    {
      role: 'assistant',
      tool_calls: [{ id: call.id, type: 'function', function: { name: 'look', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: call.id, content: hello },
  ]
  await completions.create({ model: 'acme/large', messages })
  t.strictSame(provider.asked[0]?.messages, [
    { role: 'system', content: hello },
    { role: 'system', content: hello },
    { role: 'user', content: hello },
    { role: 'user', content: [...hello, { type: 'image', url: pixel }] },
    { role: 'assistant', content: 'Hello\nWorld' },
    { role: 'assistant', content: 'Hello\nWorld\nNo.' },
    { role: 'assistant', content: '', toolCalls: [call] },
    { role: 'tool', toolCallId: call.id, content: 'Hello\nWorld' },
  ])
})

test('A single text arrives as a text in every form', async (t) => {
  const provider = replying([text('Hi'), finish()])
  const node = await createApiNode({ acme: provider })
  t.teardown(() => node.stop())
  const { completions } = clientOf(node, await node.signIn()).chat
  for (const role of ['system', 'user'] as const) {
    await completions.create({
      model: 'acme/large',
      messages: [
        { role, content: 'Hello' },
        { role, content: [part('Hello')] },
        { role, content: [] },
      ],
    })
    t.strictSame(
      provider.asked.at(-1)?.messages,
      ['Hello', 'Hello', ''].map((content) => ({ role, content })),
    )
  }
})
