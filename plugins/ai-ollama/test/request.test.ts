import { test } from 'tap'
import { createChatNode } from './chat-node.ts'
import { chat, chatError, question } from './chatting.ts'

test("Only the given options are sent, under Ollama's names", async (t) => {
  const { provider, server } = await createChatNode(t)
  const given = { maxTokens: 7, temperature: 2, topP: 0.5, frequencyPenalty: -1, presencePenalty: 1, seed: 0 }
  await chat(provider, { ...given, stop: ['END'] })
  t.same(server.body(), {
    model: 'llama3.2:latest',
    messages: [question],
    stream: true,
    options: {
      num_predict: 7,
      temperature: 2,
      top_p: 0.5,
      frequency_penalty: -1,
      presence_penalty: 1,
      seed: 0,
      stop: ['END'],
    },
  })
  await chat(provider, { stop: [], tools: [] })
  t.same(server.body(), { model: 'llama3.2:latest', messages: [question], stream: true })
  await chat(provider, { temperature: 0 })
  t.same(server.body().options, { temperature: 0 })
})

test('Results of tools have the name of the tool', async (t) => {
  const { provider, server } = await createChatNode(t)
  await chat(provider, {
    messages: [
      question,
      {
        role: 'assistant',
        content: '',
        toolCalls: [
          { id: 'a', name: 'look', arguments: '{"at":"map"}' },
          { id: 'b', name: 'clock', arguments: '' },
          { id: 'c', name: 'look', arguments: '{"at":' },
          { id: 'd', name: 'look', arguments: '["map"]' },
        ],
      },
      { role: 'tool', toolCallId: 'b', content: '12:30' },
      { role: 'tool', toolCallId: 'a', content: 'Lima' },
      { role: 'tool', toolCallId: 'of nobody', content: '?' },
    ],
  })
  t.same(server.body().messages.slice(1), [
    {
      role: 'assistant',
      content: '',
      tool_calls: [
        { id: 'a', function: { name: 'look', arguments: { at: 'map' } } },
        { id: 'b', function: { name: 'clock', arguments: {} } },
        { id: 'c', function: { name: 'look', arguments: { INVALID_JSON: '{"at":' } } },
        { id: 'd', function: { name: 'look', arguments: { INVALID_JSON: '["map"]' } } },
      ],
    },
    { role: 'tool', content: '12:30', tool_call_id: 'b', tool_name: 'clock' },
    { role: 'tool', content: 'Lima', tool_call_id: 'a', tool_name: 'look' },
    { role: 'tool', content: '?', tool_call_id: 'of nobody' },
  ])
})

test('The choice of a tool decides which tools are offered', async (t) => {
  const { provider, server } = await createChatNode(t)
  const tools = [
    { name: 'look', description: 'Looks.', parameters: { type: 'object' } },
    { name: 'clock', parameters: {} },
  ]
  for (const [toolChoice, offered] of [
    ['auto', ['look', 'clock']],
    ['required', ['look', 'clock']],
    [{ name: 'clock' }, ['clock']],
    ['none', undefined],
  ] as const) {
    await chat(provider, { tools, toolChoice })
    t.same(
      server.body().tools?.map((tool) => tool.function.name),
      offered,
    )
  }
})

test('The request can turn thinking off, and has no levels of it, which many models refuse', async (t) => {
  const { provider, server } = await createChatNode(t)
  for (const reasoningEffort of ['none', 'minimal'] as const) {
    await chat(provider, { reasoningEffort })
    t.match(server.body(), { think: false }, reasoningEffort)
  }
  for (const reasoningEffort of ['low', 'medium', 'high', 'xhigh', 'max'] as const) {
    await chat(provider, { reasoningEffort })
    t.notOk('think' in server.body(), reasoningEffort)
  }
})

test('Options that the protocol lacks are not sent', async (t) => {
  const { provider, server } = await createChatNode(t)
  const schema = { type: 'object', properties: {} }
  const image = { type: 'image', url: 'data:image/png;base64,AAAA', detail: 'low' } as const
  await chat(provider, {
    messages: [{ role: 'user', content: [image] }],
    tools: [{ name: 'look', parameters: schema, strict: true }],
    parallelToolCalls: false,
    json: { schema, name: 'sum', description: 'A sum.', strict: true },
  })
  t.strictSame(server.body(), {
    model: 'llama3.2:latest',
    messages: [{ role: 'user', content: '', images: ['AAAA'] }],
    stream: true,
    tools: [{ type: 'function', function: { name: 'look', parameters: schema } }],
    format: schema,
  } as object)
})

test('JSON is requested by name or by a schema', async (t) => {
  const { provider, server } = await createChatNode(t)
  await chat(provider, { json: {} })
  t.equal(server.body().format, 'json')
  const schema = { type: 'object', properties: { age: { type: 'integer', minimum: 3 } } }
  await chat(provider, { json: { schema } })
  t.same(server.body().format, schema)
})

test('Images are sent beside the text, and no file of this machine is read as an image', async (t) => {
  const { provider, server } = await createChatNode(t)
  // The text is valid base64 and the name of a file.
  const file = '/etc/hosts'
  await chat(provider, {
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What' },
          { type: 'image', url: 'data:IMAGE/PNG;name=a.png;BASE64,AAAA' },
          { type: 'text', text: 'is this?' },
          { type: 'image', url: `data:image/jpeg;base64,${file}` },
        ],
      },
    ],
  })
  t.same(server.body().messages, [{ role: 'user', content: 'What\nis this?', images: ['AAAA', file] }])
  const { length } = server.body().messages
  for (const url of [
    'https://example.org/a.png',
    'data:image/png,%89PNG',
    'data:text/plain;base64,AAAA',
    file,
    '',
  ]) {
    const error = await chatError(provider, {
      messages: [{ role: 'user', content: [{ type: 'image', url }] }],
    })
    t.match(error, { code: 'VALIDATION_ERROR', permanent: true, message: /"data:" URL in base64/ }, url)
  }
  t.equal(server.chats(), length)
})
