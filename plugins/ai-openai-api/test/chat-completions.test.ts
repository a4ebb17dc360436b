import type { ChatDelta } from '@nodekeep/plugin-sdk'
import type OpenAI from 'openai'
import { test } from 'tap'
import {
  clientOf,
  createApiNode,
  finish,
  refusal,
  replying,
  text,
  usage,
} from './fixtures/openai-api-node.ts'

const hello = [{ role: 'user' as const, content: 'Hello' }]
const pixel = 'data:image/png;base64,iVBORw0KGgo='

test("OpenAI's client gets a whole reply", async (t) => {
  const provider = replying([text('Good '), text('day ☀️'), usage, finish()])
  const node = await createApiNode({ acme: provider })
  t.teardown(() => node.stop())
  const client = clientOf(node, await node.signIn())
  const before = Math.floor(Date.now() / 1000)
  const answer = await client.chat.completions.create({ model: 'acme/large', messages: hello })
  t.match(answer, {
    object: 'chat.completion',
    model: 'acme/large',
    usage: { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 },
  })
  t.match(answer.id, /^chatcmpl-[0-9a-f]{32}$/)
  t.ok(answer.created >= before)
  t.strictSame(answer.choices, [
    {
      index: 0,
      message: { role: 'assistant', content: 'Good day ☀️', refusal: null },
      logprobs: null,
      finish_reason: 'stop',
    },
  ])
})

test("OpenAI's client gets a stream", async (t) => {
  const node = await createApiNode({ acme: replying([text('Good '), text('day'), usage, finish('length')]) })
  t.teardown(() => node.stop())
  const client = clientOf(node, await node.signIn())
  const ask = { model: 'acme/large', messages: hello, stream: true as const }
  const stream = await client.chat.completions.create({ ...ask, stream_options: { include_usage: true } })
  const chunks = []
  for await (const chunk of stream) chunks.push(chunk)
  t.equal(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join(''), 'Good day')
  t.equal(chunks[0]?.choices[0]?.delta.role, 'assistant')
  t.strictSame(
    chunks.flatMap(({ choices }) => choices[0]?.finish_reason ?? []),
    ['length'],
  )
  t.strictSame(chunks.at(-1)?.choices, [])
  t.strictSame(chunks.at(-1)?.usage, { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 })
  t.equal(new Set(chunks.map(({ id }) => id)).size, 1)

  const without = []
  for await (const chunk of await client.chat.completions.create(ask)) without.push(chunk)
  t.ok(without.every((chunk) => chunk.choices.length === 1 && !('usage' in chunk)))
})

test('Tool calls pass through in both directions', async (t) => {
  const pieces: ChatDelta[] = [
    { type: 'tool_call', index: 0, id: 'call_1', name: 'weather', arguments: '{"city":' },
    { type: 'tool_call', index: 0, arguments: '"Basel"}' },
    { type: 'tool_call', index: 1, id: 'call_2', name: 'time', arguments: '{}' },
    finish('tool_calls'),
  ]
  const provider = replying(pieces)
  const node = await createApiNode({ acme: provider })
  t.teardown(() => node.stop())
  const client = clientOf(node, await node.signIn())
  const parameters = { type: 'object', properties: { city: { type: 'string' } } }
  const tools: OpenAI.ChatCompletionTool[] = [
    { type: 'function', function: { name: 'weather', description: 'Tells it.', parameters } },
    { type: 'function', function: { name: 'time' } },
  ]
  const call = { id: 'call_0', type: 'function' as const, function: { name: 'time', arguments: '{}' } }
  const request: OpenAI.ChatCompletionCreateParamsNonStreaming = {
    model: 'acme/large',
    tools,
    tool_choice: { type: 'function', function: { name: 'weather' } },
    messages: [
      { role: 'developer', content: [{ type: 'text', text: 'Be short.' }] },
      { role: 'user', content: 'What is the time?' },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'call_0', content: '12:00' },
      { role: 'assistant', content: 'Noon.' },
      { role: 'user', content: 'And the weather?' },
    ],
  }
  const expected = [
    { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Basel"}' } },
    { id: 'call_2', type: 'function', function: { name: 'time', arguments: '{}' } },
  ]
  const whole = await client.chat.completions.create(request)
  t.equal(whole.choices[0]?.finish_reason, 'tool_calls')
  t.equal(whole.choices[0]?.message.content, null)
  t.strictSame(whole.choices[0]?.message.tool_calls, expected)

  const streamed = await client.chat.completions.stream({ ...request, stream: true }).finalChatCompletion()
  t.match(streamed.choices[0]?.message.tool_calls, expected)

  for (const asked of provider.asked) {
    t.strictSame(asked.toolChoice, { name: 'weather' })
    t.strictSame(asked.tools, [
      { name: 'weather', description: 'Tells it.', parameters },
      { name: 'time', parameters: { type: 'object', properties: {} } },
    ])
    t.strictSame(asked.messages, [
      { role: 'system', content: 'Be short.' },
      { role: 'user', content: 'What is the time?' },
      { role: 'assistant', content: '', toolCalls: [{ id: 'call_0', name: 'time', arguments: '{}' }] },
      { role: 'tool', toolCallId: 'call_0', content: '12:00' },
      { role: 'assistant', content: 'Noon.' },
      { role: 'user', content: 'And the weather?' },
    ])
  }
})

test('Images in the request pass through, and addresses are not followed', async (t) => {
  const provider = replying([text('A pixel.'), finish()])
  const node = await createApiNode({ acme: provider })
  t.teardown(() => node.stop())
  const client = clientOf(node, await node.signIn())
  const ask = (url: string) =>
    client.chat.completions.create({
      model: 'acme/large',
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is it?' },
            { type: 'image_url', image_url: { url } },
          ],
        },
      ],
    })
  await ask(pixel)
  t.strictSame(provider.asked[0]?.messages, [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'What is it?' },
        { type: 'image', url: pixel },
      ],
    },
  ])
  for (const url of [
    node.url.href,
    'http://169.254.169.254/',
    'file:///etc/passwd',
    'data:text/html,x',
    '',
  ]) {
    t.match(await refusal(ask(url)), { status: 400, code: 'VALIDATION_ERROR' }, url)
  }
  t.equal(provider.asked.length, 1)
})
