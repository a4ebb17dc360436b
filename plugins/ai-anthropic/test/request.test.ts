import { test } from 'tap'
import { createChatNode } from './chat-node.ts'
import { chat, chatError, question } from './chatting.ts'

test('System messages at every position go to "system"', async (t) => {
  const { provider, server } = await createChatNode(t)
  await chat(provider, {
    messages: [
      { role: 'system', content: 'Be short.' },
      question,
      { role: 'assistant', content: 'Lima' },
      {
        role: 'system',
        content: [
          { type: 'text', text: 'Be kind.' },
          { type: 'text', text: '' },
        ],
      },
      { role: 'user', content: 'And of Chile?' },
    ],
  })
  const { system, messages } = server.body()
  t.same(system, [
    { type: 'text', text: 'Be short.' },
    { type: 'text', text: 'Be kind.' },
  ])
  t.same(messages, [
    question,
    { role: 'assistant', content: [{ type: 'text', text: 'Lima' }] },
    { role: 'user', content: 'And of Chile?' },
  ])
  await chat(provider)
  t.notOk('system' in server.body(), 'A chat without system messages has no "system".')
})

test('Consecutive results of tools are one message of the user', async (t) => {
  const { provider, server } = await createChatNode(t)
  await chat(provider, {
    messages: [
      question,
      {
        role: 'assistant',
        content: '',
        toolCalls: [
          { id: 'a', name: 'look', arguments: '{"at":"map"}' },
          { id: 'b', name: 'look', arguments: '' },
        ],
      },
      { role: 'tool', toolCallId: 'a', content: 'Lima' },
      { role: 'tool', toolCallId: 'b', content: '' },
      { role: 'user', content: 'Well?' },
      {
        role: 'assistant',
        content: 'Once more.',
        toolCalls: [{ id: 'c', name: 'look', arguments: '{"at":' }],
      },
      { role: 'tool', toolCallId: 'c', content: 'What do you mean?' },
    ],
  })
  t.same(server.body().messages, [
    question,
    {
      role: 'assistant',
      content: [
        { type: 'tool_use', id: 'a', name: 'look', input: { at: 'map' } },
        { type: 'tool_use', id: 'b', name: 'look', input: {} },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'a', content: 'Lima' },
        { type: 'tool_result', tool_use_id: 'b', content: '' },
      ],
    },
    { role: 'user', content: 'Well?' },
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'Once more.' },
        { type: 'tool_use', id: 'c', name: 'look', input: { INVALID_JSON: '{"at":' } },
      ],
    },
    {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 'c', content: 'What do you mean?' }],
    },
  ])
})

test('An empty reply of the model is left out', async (t) => {
  const { provider, server } = await createChatNode(t)
  await chat(provider, { messages: [question, { role: 'assistant', content: '' }, question] })
  t.same(server.body().messages, [question, question])
})

test('Options that the API no longer accepts are not sent, and the limit of the reply always is', async (t) => {
  const { provider, server } = await createChatNode(t)
  await chat(provider, { temperature: 1.5, topP: 0.5, frequencyPenalty: 1, presencePenalty: 1, seed: 7 })
  t.same(server.body(), {
    model: 'claude-opus-5-5',
    max_tokens: 16384,
    messages: [question],
    stream: true,
  })
  await chat(provider, { maxTokens: 7, stop: [], tools: [], toolChoice: 'required' })
  t.same(server.body().max_tokens, 7)
  t.notOk('stop_sequences' in server.body() || 'tool_choice' in server.body())
})

test('A tool without a schema gets an object schema, and a choice of a tool is translated', async (t) => {
  const { provider, server } = await createChatNode(t)
  const tools = [{ name: 'look', parameters: {} }]
  for (const [toolChoice, words] of [
    [undefined, { type: 'auto' }],
    ['none', { type: 'none' }],
    ['required', { type: 'any' }],
    [{ name: 'look' }, { type: 'tool', name: 'look' }],
  ] as const) {
    await chat(provider, { tools, ...(toolChoice && { toolChoice }) })
    t.same(server.body().tool_choice, words)
    t.same(server.body().tools, [{ name: 'look', input_schema: { type: 'object' } }])
  }
})

test('The request for a single call is sent only if the model may call tools', async (t) => {
  const { provider, server } = await createChatNode(t)
  const tools = [{ name: 'look', parameters: {} }]
  const single = { disable_parallel_tool_use: true }
  for (const [toolChoice, words] of [
    [undefined, { type: 'auto', ...single }],
    ['none', { type: 'none' }],
    ['required', { type: 'any', ...single }],
    [{ name: 'look' }, { type: 'tool', name: 'look', ...single }],
  ] as const) {
    await chat(provider, { tools, parallelToolCalls: false, ...(toolChoice && { toolChoice }) })
    t.strictSame(server.body().tool_choice, words)
  }
  await chat(provider, { tools, parallelToolCalls: true })
  t.strictSame(server.body().tool_choice, { type: 'auto' })
  await chat(provider, { parallelToolCalls: false })
  t.notOk('tool_choice' in server.body())
})

test('Strict tools have schemas that the API can enforce', async (t) => {
  const { provider, server } = await createChatNode(t)
  const parameters = {
    type: 'object',
    properties: { at: { type: 'string', maxLength: 9 } },
    required: ['at'],
  }
  await chat(provider, {
    tools: [
      { name: 'look', description: 'Looks.', parameters, strict: true },
      { name: 'clock', parameters: {}, strict: true },
      { name: 'map', parameters, strict: false },
    ],
  })
  const closed = { type: 'object', additionalProperties: false }
  t.strictSame(server.body().tools, [
    {
      name: 'look',
      input_schema: {
        ...closed,
        properties: { at: { type: 'string', description: '{maxLength: 9}' } },
        required: ['at'],
      },
      description: 'Looks.',
      strict: true,
    },
    { name: 'clock', input_schema: { ...closed, properties: {} }, strict: true },
    { name: 'map', input_schema: parameters },
  ])
  const anything = { type: 'object', properties: { a: {} } }
  const error = await chatError(provider, { tools: [{ name: 'a', parameters: anything, strict: true }] })
  t.match(error, { code: 'VALIDATION_ERROR', permanent: true, message: /JSON Schema/ })
})

test('The reasoning effort is sent as the nearest level of the API', async (t) => {
  const { provider, server } = await createChatNode(t)
  for (const [reasoningEffort, word] of [
    ['none', 'low'],
    ['minimal', 'low'],
    ['low', 'low'],
    ['medium', 'medium'],
    ['max', 'max'],
  ] as const) {
    await chat(provider, { reasoningEffort })
    t.strictSame(server.body().output_config, { effort: word })
  }
})

test('A schema for JSON is sent in the form that the API accepts', async (t) => {
  const { provider, server } = await createChatNode(t)
  const schema = { type: 'object', properties: { age: { type: 'integer', minimum: 3 } } }
  await chat(provider, { json: { schema } })
  t.same(server.body().output_config, {
    format: {
      type: 'json_schema',
      schema: {
        type: 'object',
        properties: { age: { type: 'integer', description: '{minimum: 3}' } },
        additionalProperties: false,
      },
    },
  })
  await chat(provider, {
    json: { schema: { type: 'object' }, name: 'sum', description: 'A sum.', strict: true },
  })
  t.strictSame(server.body().output_config?.format?.schema, {
    type: 'object',
    description: 'A sum.',
    properties: {},
    additionalProperties: false,
  })
  const described = { type: 'object', description: 'Its own.' }
  await chat(provider, { json: { schema: described, description: 'A sum.' }, reasoningEffort: 'high' })
  t.match(server.body().output_config, { format: { schema: { description: 'Its own.' } }, effort: 'high' })
  for (const json of [
    {},
    { schema: { type: 'array' } },
    { schema: { type: 'object', properties: { a: {} } } },
  ]) {
    const { code, permanent, message } = await chatError(provider, { json })
    t.same([code, permanent], ['VALIDATION_ERROR', true])
    t.match(message, /JSON Schema/)
  }
})

test('The provider refuses images that the API does not accept', async (t) => {
  const { provider, server } = await createChatNode(t)
  for (const url of [
    'https://example.org/a.png',
    'data:image/png,%89PNG',
    'data:image/svg+xml;base64,PHN2Zy8+',
    'data:;base64,AAAA',
    'image/png;base64,AAAA',
    '',
  ]) {
    const { code, message } = await chatError(provider, {
      messages: [{ role: 'user', content: [{ type: 'image', url }] }],
    })
    t.equal(code, 'VALIDATION_ERROR', url)
    t.match(message, /"data:" URL in base64, of the type image\/gif, image\/jpeg, image\/png, image\/webp\.$/)
  }
  const image = { type: 'image', url: 'data:image/png;base64,AAAA' } as const
  const { code } = await chatError(provider, { messages: [{ role: 'system', content: [image] }, question] })
  t.equal(code, 'VALIDATION_ERROR', 'An image in a system message is refused.')
  t.equal(server.chats(), 0)
  const url = 'data:IMAGE/PNG;name=a.png;BASE64,AAAA'
  await chat(provider, { messages: [{ role: 'user', content: [{ type: 'image', url }] }] })
  t.same(server.body().messages[0]?.content, [
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
  ])
})
