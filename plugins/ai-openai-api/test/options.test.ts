import type OpenAI from 'openai'
import { test } from 'tap'
import { clientOf, createApiNode, finish, replying, text } from './fixtures/openai-api-node.ts'

const hello = [{ role: 'user' as const, content: 'Hello' }]
const ask = { model: 'acme/large', messages: hello }
const asked = { model: 'large', messages: hello }
const schema = { type: 'object', properties: { a: { type: 'number' } } }

test('The options that tune a reply arrive under all their names', async (t) => {
  const provider = replying([text('{}'), finish()])
  const node = await createApiNode({ acme: provider })
  t.teardown(() => node.stop())
  const { completions } = clientOf(node, await node.signIn()).chat
  await completions.create({
    ...ask,
    max_tokens: 7,
    temperature: 0,
    top_p: 0.5,
    frequency_penalty: -2,
    presence_penalty: 0.5,
    seed: -1,
    reasoning_effort: 'xhigh',
    stop: 'END',
  })
  await completions.create({ ...ask, max_completion_tokens: 8, seed: 2 ** 53 - 1, stop: ['A', 'B'] })
  t.strictSame(provider.asked, [
    {
      ...asked,
      maxTokens: 7,
      temperature: 0,
      topP: 0.5,
      frequencyPenalty: -2,
      presencePenalty: 0.5,
      seed: -1,
      reasoningEffort: 'xhigh',
      stop: ['END'],
    },
    { ...asked, maxTokens: 8, seed: 2 ** 53 - 1, stop: ['A', 'B'] },
  ])
})

test('Empty options and options without effect on the reply are left unread', async (t) => {
  const provider = replying([text('Hi'), finish()])
  const node = await createApiNode({ acme: provider })
  t.teardown(() => node.stop())
  const { completions } = clientOf(node, await node.signIn()).chat
  await completions.create({
    ...ask,
    user: 'ada',
    safety_identifier: 'ada',
    metadata: { a: 'b' },
    store: true,
    service_tier: 'flex',
    verbosity: 'low',
    prompt_cache_key: 'a',
    prediction: { type: 'content', content: 'Hi' },
    n: 1,
    logprobs: false,
    logit_bias: {},
    modalities: ['text'],
    parallel_tool_calls: false,
    response_format: { type: 'text' },
  })
  await completions.create({
    ...ask,
    audio: null,
    frequency_penalty: null,
    logit_bias: null,
    max_tokens: null,
    moderation: null,
    presence_penalty: null,
    reasoning_effort: null,
    seed: null,
    stop: null,
    temperature: null,
    top_p: null,
  })
  t.strictSame(provider.asked, [asked, asked])
})

test('The form of the reply arrives with its schema, name, description and strictness', async (t) => {
  const provider = replying([text('{"a":1}'), finish()])
  const node = await createApiNode({ acme: provider })
  t.teardown(() => node.stop())
  const { completions } = clientOf(node, await node.signIn()).chat
  const said = { name: 'sum', description: 'What it comes to.', schema }
  const json_schema = { ...said, strict: true }
  const parsed = await completions.parse({ ...ask, response_format: { type: 'json_schema', json_schema } })
  t.strictSame(parsed.choices[0]?.message.parsed, { a: 1 })
  const loose = { name: 'sum', schema, strict: false }
  await completions.create({ ...ask, response_format: { type: 'json_schema', json_schema: loose } })
  const plain = { name: 'sum', schema, strict: null }
  await completions.create({ ...ask, response_format: { type: 'json_schema', json_schema: plain } })
  await completions.create({ ...ask, response_format: { type: 'json_object' } })
  t.strictSame(
    provider.asked.map(({ json }) => json),
    [{ ...said, strict: true }, loose, { name: 'sum', schema }, {}],
  )
})

test('The strictness of tools and the option of parallel calls arrive', async (t) => {
  const provider = replying([text('Hi'), finish()])
  const node = await createApiNode({ acme: provider })
  t.teardown(() => node.stop())
  const { completions } = clientOf(node, await node.signIn()).chat
  const tools: OpenAI.ChatCompletionTool[] = [
    { type: 'function', function: { name: 'add', parameters: schema, strict: true } },
    { type: 'function', function: { name: 'take', parameters: schema, strict: false } },
    { type: 'function', function: { name: 'look', parameters: schema, strict: null } },
  ]
  for (const parallel_tool_calls of [true, false]) {
    await completions.create({ ...ask, tools, parallel_tool_calls })
  }
  await completions.create({ ...ask, tools })
  t.strictSame(provider.asked[0]?.tools, [
    { name: 'add', parameters: schema, strict: true },
    { name: 'take', parameters: schema, strict: false },
    { name: 'look', parameters: schema },
  ])
  t.strictSame(
    provider.asked.map(({ parallelToolCalls }) => parallelToolCalls),
    [true, false, undefined],
  )
})

test('The level of detail of an image arrives', async (t) => {
  const provider = replying([text('A pixel.'), finish()])
  const node = await createApiNode({ acme: provider })
  t.teardown(() => node.stop())
  const { completions } = clientOf(node, await node.signIn()).chat
  const url = 'data:image/png;base64,iVBORw0KGgo='
  const details = ['auto', 'low', 'high', 'original'] as const
  const content = details.map((detail) => ({ type: 'image_url' as const, image_url: { url, detail } }))
  await completions.create({ model: 'acme/large', messages: [{ role: 'user', content }] })
  t.strictSame(
    provider.asked[0]?.messages[0]?.content,
    details.map((detail) => ({ type: 'image', url, detail })),
  )
})
