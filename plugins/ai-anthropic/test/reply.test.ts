import { once } from 'node:events'
import type { ChatDelta } from '@nodekeep/plugin-sdk'
import type { ModelHttpAnswer } from '@nodekeep/plugin-sdk/conformance/ai'
import { test } from 'tap'
import { event, messageStart, replyEvents, textBlock, toolBlock } from './anthropic-events.ts'
import { createChatNode } from './chat-node.ts'
import { chat, chatError, textOf } from './chatting.ts'

const stopEvents = (stop_reason: string | null) => [
  event('message_delta', { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 9 } }),
  event('message_stop', {}),
]

const events =
  (...lines: readonly string[]): ModelHttpAnswer =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(lines.join(''))
  }

test('Thoughts and unknown events are not part of the reply', async (t) => {
  const { provider, server } = await createChatNode(t)
  server.answer = events(
    messageStart(3),
    event('content_block_start', { index: 0, content_block: { type: 'thinking', thinking: 'Hm. ' } }),
    event('content_block_delta', { index: 0, delta: { type: 'thinking_delta', thinking: 'Peru…' } }),
    event('content_block_delta', { index: 0, delta: { type: 'signature_delta', signature: 'EqQB' } }),
    event('content_block_stop', { index: 0 }),
    event('content_block_start', { index: 1, content_block: { type: 'redacted_thinking', data: 'x' } }),
    event('content_block_stop', { index: 1 }),
    event('a_new_kind_of_event', { index: 1 }),
    ...textBlock(['Lima'], 2),
    event('content_block_delta', { index: 2, delta: { type: 'a_new_kind_of_delta', text: 'no' } }),
    event('content_block_stop', { index: 2 }),
    ...stopEvents('end_turn'),
  )
  const deltas = await chat(provider)
  t.equal(textOf(deltas), 'Lima')
  t.same(deltas.at(-1), { type: 'finish', reason: 'stop' })
  t.same(
    deltas.filter(({ type }) => type === 'reasoning'),
    // The signature, redacted thoughts and a ping give empty thoughts.
    ['Hm. ', 'Peru…', '', '', ''].map((text) => ({ type: 'reasoning', text })),
  )
})

test('A model without visible thoughts shows that it is working', async (t) => {
  const { provider, server } = await createChatNode(t)
  const deltas: ChatDelta[] = []
  let more = (_text: string): unknown => null
  server.answer = (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    more = (text) => response.write(text)
    more(event('ping', {}) + messageStart(3))
  }
  // Each event is sent when the client has got the one before.
  const workEvents = [
    event('ping', {}),
    event('content_block_start', { index: 0, content_block: { type: 'thinking', thinking: '' } }),
    'event: ping\r\ndata: {"type": "ping"}\r\n\r\n',
    event('content_block_delta', { index: 0, delta: { type: 'signature_delta', signature: 'EqQB' } }),
    'data: {"type": "ping"}\nevent: ping\n\n',
    event('content_block_start', { index: 1, content_block: { type: 'redacted_thinking', data: 'x' } }),
    event('content_block_stop', { index: 1 }) + stopEvents('end_turn').join(''),
  ]
  const request = { model: 'claude-opus-5-5', messages: [{ role: 'user', content: 'Well?' }] } as const
  for await (const delta of provider.chat(request, new AbortController().signal)) {
    deltas.push(delta)
    more(workEvents.shift() ?? '')
    if (delta.type === 'finish') break
  }
  const sign = { type: 'reasoning', text: '' }
  const usage = { type: 'usage', inputTokens: 3 }
  const finish = { type: 'finish', reason: 'stop' }
  // Events that add nothing are yielded, so that they count: the first ping, and the end of a block.
  const nothing = { type: 'text', text: '' }
  const signs = Array(6).fill(sign)
  t.match(deltas, [nothing, usage, ...signs, nothing, { ...usage, outputTokens: 9 }, finish])
  t.equal(deltas.length, 11)
})

test('Tokens of the cache count as input, and totals that are not repeated stay', async (t) => {
  const { provider, server } = await createChatNode(t)
  server.answer = events(
    messageStart(10, { cache_creation_input_tokens: 200, cache_read_input_tokens: 3000 }),
    ...textBlock(['Lima']),
    event('message_delta', {
      delta: { stop_reason: null },
      usage: { input_tokens: null, output_tokens: 5 },
    }),
    event('message_delta', {
      delta: { stop_reason: 'end_turn' },
      usage: { input_tokens: 11, cache_creation_input_tokens: null, output_tokens: 8 },
    }),
    event('message_stop', {}),
  )
  const usages = (await chat(provider)).filter(({ type }) => type === 'usage')
  t.same(usages, [
    { type: 'usage', inputTokens: 3210, outputTokens: 1 },
    { type: 'usage', inputTokens: 3210, outputTokens: 5 },
    { type: 'usage', inputTokens: 3211, outputTokens: 8 },
  ])
})

test('A reply of a gateway without counts has no usage', async (t) => {
  const { provider, server } = await createChatNode(t)
  const none = { input_tokens: undefined, output_tokens: undefined }
  const end = { delta: { stop_reason: 'end_turn' } }
  for (const [began, ended, expected] of [
    [none, {}, []],
    [none, { usage: null }, []],
    [none, { usage: {} }, []],
    [{ input_tokens: 0, output_tokens: 0 }, { usage: { output_tokens: 0 } }, []],
    [{ input_tokens: '3', output_tokens: -1 }, { usage: { output_tokens: 1.5 } }, []],
    [none, { usage: { output_tokens: 9 } }, [{ type: 'usage', inputTokens: 0, outputTokens: 9 }]],
  ] as const) {
    server.answer = events(
      messageStart(3, began),
      event('message_delta', { ...end, ...ended }),
      event('message_stop', {}),
    )
    t.same(
      (await chat(provider)).filter(({ type }) => type === 'usage'),
      expected,
    )
  }
})

test('Counts of tokens stop at the greatest safe integer', async (t) => {
  const { provider, server } = await createChatNode(t)
  const most = Number.MAX_SAFE_INTEGER
  server.answer = events(messageStart(most, { cache_read_input_tokens: most }), ...stopEvents('end_turn'))
  t.match((await chat(provider))[0], { type: 'usage', inputTokens: most })
})

test('Each reason to stop has a reason of the contract', async (t) => {
  const { provider, server } = await createChatNode(t)
  for (const [stopReason, reason] of [
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['pause_turn', 'stop'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['tool_use', 'tool_calls'],
    ['refusal', 'content_filter'],
    ['a_new_reason', 'stop'],
    [null, 'stop'],
  ] as const) {
    server.answer = events(messageStart(3), ...stopEvents(stopReason))
    t.same((await chat(provider)).at(-1), { type: 'finish', reason }, `${stopReason}`)
  }
})

test('A tool call without arguments gets an empty object', async (t) => {
  const { provider, server } = await createChatNode(t)
  const call = { id: 'toolu_1', name: 'clock', arguments: '' }
  server.answer = events(messageStart(3), ...toolBlock(call, 0), ...stopEvents('tool_use'))
  t.same(
    (await chat(provider)).filter(({ type }) => type === 'tool_call'),
    [
      { type: 'tool_call', index: 0, id: 'toolu_1', name: 'clock' },
      { type: 'tool_call', index: 0, arguments: '{}' },
    ],
  )
})

test('Content in the start of a block is part of the reply', async (t) => {
  const { provider, server } = await createChatNode(t)
  const start = (index: number, content_block: object) =>
    event('content_block_start', { index, content_block })
  const stop = (index: number) => event('content_block_stop', { index })
  server.answer = events(
    messageStart(3),
    start(0, { type: 'text', text: 'Let me ' }),
    event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'look.' } }),
    stop(0),
    start(1, { type: 'tool_use', id: 'toolu_1', name: 'read', input: { path: '/a' } }),
    stop(1),
    start(2, { type: 'tool_use', id: 'toolu_2', name: 'read', input: { path: '/b' } }),
    event('content_block_delta', { index: 2, delta: { type: 'input_json_delta', partial_json: '{}' } }),
    stop(2),
    start(3, { type: 'tool_use', id: 'toolu_3', name: 'clock', input: null }),
    stop(3),
    ...stopEvents('tool_use'),
  )
  const deltas = await chat(provider)
  t.equal(textOf(deltas), 'Let me look.')
  const calls = deltas.flatMap((delta) => (delta.type === 'tool_call' ? [delta.arguments ?? delta.id] : []))
  t.same(calls, ['toolu_1', '{"path":"/a"}', 'toolu_2', '{}', 'toolu_3', '{}'])
})

test('A gateway may answer the request for a stream with a whole message, or with an error', async (t) => {
  const { provider, server } = await createChatNode(t)
  const answer = (body: object) => {
    server.answer = (response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }
  answer({
    type: 'message',
    content: [
      { type: 'thinking', thinking: 'Peru?', signature: '' },
      { type: 'text', text: 'Lima' },
      { type: 'tool_use', id: 'a', name: 'clock', input: { at: 1 } },
    ],
    stop_reason: 'tool_use',
    usage: { input_tokens: 3, output_tokens: 5 },
  })
  const deltas = await chat(provider)
  t.same(
    deltas.filter((delta) => delta.type !== 'text' || delta.text !== ''),
    [
      { type: 'usage', inputTokens: 3, outputTokens: 5 },
      { type: 'reasoning', text: 'Peru?' },
      { type: 'text', text: 'Lima' },
      { type: 'tool_call', index: 0, id: 'a', name: 'clock' },
      { type: 'tool_call', index: 0, arguments: '{"at":1}' },
      { type: 'usage', inputTokens: 3, outputTokens: 5 },
      { type: 'finish', reason: 'tool_calls' },
    ],
  )
  const refused = { code: 'VALIDATION_ERROR', message: /It says: Too long\.$/ }
  for (const [body, expected] of [
    [{ type: 'error', error: { type: 'invalid_request_error', message: 'Too long.' } }, refused],
    [{ error: { message: 'Too long.' } }, refused],
    [{ type: 'error', error: { type: 'overloaded_error', message: 'No.' } }, { code: 'UPSTREAM_ERROR' }],
  ] as const) {
    answer(body)
    t.match(await chatError(provider), expected, JSON.stringify(body))
  }
})

test('Events with blank data keep the connection open', async (t) => {
  const { provider, server } = await createChatNode(t)
  const whole = replyEvents({ kind: 'reply', text: ['Li', 'ma'], finish: 'stop' })
  server.answer = events(...whole.flatMap((text) => ['data:\n\n', 'event: ping\ndata: \n\n', text]))
  t.equal(textOf(await chat(provider)), 'Lima')
})

test('A reply without its last event is cut short', async (t) => {
  const { provider, server } = await createChatNode(t)
  const [lastButOne = ''] = stopEvents('end_turn')
  server.answer = events(messageStart(3), ...textBlock(['Lima']), lastButOne)
  t.match(await chatError(provider), { code: 'UPSTREAM_ERROR', permanent: false })
})

test('Connections are reused', async (t) => {
  const { provider, server } = await createChatNode(t)
  const sockets = new Set<unknown>()
  const whole = replyEvents({ kind: 'reply', text: ['Lima'], finish: 'stop' })
  server.answer = (response, request) => {
    sockets.add(request.socket)
    events(...whole)(response, request)
  }
  for (let chats = 0; chats < 5; chats += 1) await chat(provider)
  t.ok(sockets.size < 5, `The provider opened ${sockets.size} connections.`)
})

test('The reader can leave at the end of a reply whose connection stays open', async (t) => {
  const { provider, server } = await createChatNode(t)
  let closed: Promise<unknown> | undefined
  server.answer = (response) => {
    closed = once(response, 'close')
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write([messageStart(3), ...textBlock(['Lima']), ...stopEvents('end_turn')].join(''))
  }
  const request = { model: 'claude-opus-5-5', messages: [{ role: 'user', content: 'Well?' }] } as const
  for await (const delta of provider.chat(request, new AbortController().signal)) {
    if (delta.type === 'finish') break
  }
  await closed
})

test('A reader that leaves before the first piece ends the call', async (t) => {
  const { provider, server } = await createChatNode(t)
  const closed = new Promise((resolve) => {
    server.answer = (response) => {
      response.once('close', resolve)
      void leave()
    }
  })
  const request = { model: 'claude-opus-5-5', messages: [{ role: 'user', content: 'Well?' }] } as const
  const deltas = provider.chat(request, new AbortController().signal)[Symbol.asyncIterator]()
  const first = deltas.next()
  const leave = async () => t.same(await deltas.return?.(), { done: true, value: undefined })
  t.same(await first, { done: true, value: undefined })
  await closed
})
