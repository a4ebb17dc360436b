import { once } from 'node:events'
import { test } from 'tap'
import { event, messageStart, replyEvents, textBlock, toolBlock } from './anthropic-events.ts'
import type { Answer } from './anthropic-server.ts'
import { chatNode } from './chat-node.ts'
import { chat, chatError, textOf } from './chatting.ts'

const stopEvents = (stop_reason: string | null) => [
  event('message_delta', { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 9 } }),
  event('message_stop', {}),
]

const events =
  (...lines: readonly string[]): Answer =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(lines.join(''))
  }

test('thoughts are not part of the reply, nor is what is not known', async (t) => {
  const { provider, server } = await chatNode(t)
  server.answer(
    events(
      messageStart(3),
      event('content_block_start', { index: 0, content_block: { type: 'thinking', thinking: '' } }),
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
    ),
  )
  const deltas = await chat(provider)
  t.equal(textOf(deltas), 'Lima')
  t.same(deltas.at(-1), { type: 'finish', reason: 'stop' })
  t.same(
    deltas.filter(({ type }) => type === 'reasoning'),
    [{ type: 'reasoning', text: 'Peru…' }],
  )
})

test('tokens of the cache count as input, and totals that are not repeated stay', async (t) => {
  const { provider, server } = await chatNode(t)
  server.answer(
    events(
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
    ),
  )
  const usages = (await chat(provider)).filter(({ type }) => type === 'usage')
  t.same(usages, [
    { type: 'usage', inputTokens: 3210, outputTokens: 1 },
    { type: 'usage', inputTokens: 3210, outputTokens: 5 },
    { type: 'usage', inputTokens: 3211, outputTokens: 8 },
  ])
})

test('every reason to stop has its word', async (t) => {
  const { provider, server } = await chatNode(t)
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
    server.answer(events(messageStart(3), ...stopEvents(stopReason)))
    t.same((await chat(provider)).at(-1), { type: 'finish', reason }, `${stopReason}`)
  }
})

test('a tool without arguments is called with an empty object', async (t) => {
  const { provider, server } = await chatNode(t)
  const call = { id: 'toolu_1', name: 'clock', arguments: '' }
  server.answer(events(messageStart(3), ...toolBlock(call, 0), ...stopEvents('tool_use')))
  t.same(
    (await chat(provider)).filter(({ type }) => type === 'tool_call'),
    [
      { type: 'tool_call', index: 0, id: 'toolu_1', name: 'clock' },
      { type: 'tool_call', index: 0, arguments: '{}' },
    ],
  )
})

test('a reply whose last event is missing is cut short, whatever it says before', async (t) => {
  const { provider, server } = await chatNode(t)
  const [lastButOne = ''] = stopEvents('end_turn')
  server.answer(events(messageStart(3), ...textBlock(['Lima']), lastButOne))
  t.match(await chatError(provider), { code: 'UPSTREAM_ERROR', permanent: false })
})

test('connections are used again', async (t) => {
  const { provider, server } = await chatNode(t)
  const sockets = new Set<unknown>()
  const whole = replyEvents({ kind: 'reply', text: ['Lima'], finish: 'stop' })
  server.answer((response, request) => {
    sockets.add(request.socket)
    events(...whole)(response, request)
  })
  for (let chats = 0; chats < 5; chats += 1) await chat(provider)
  t.ok(sockets.size < 5, `${sockets.size} connections`)
})

test('a server that keeps the connection open after the end does not keep the chat', async (t) => {
  const { provider, server } = await chatNode(t)
  let closed: Promise<unknown> | undefined
  server.answer((response) => {
    closed = once(response, 'close')
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write([messageStart(3), ...textBlock(['Lima']), ...stopEvents('end_turn')].join(''))
  })
  t.same((await chat(provider)).at(-1), { type: 'finish', reason: 'stop' })
  await closed
})

test('who leaves before the first piece ends the call', async (t) => {
  const { provider, server } = await chatNode(t)
  const closed = new Promise((resolve) => {
    server.answer((response) => {
      response.once('close', resolve)
      void leave()
    })
  })
  const request = { model: 'claude-opus-5-5', messages: [{ role: 'user', content: 'Well?' }] } as const
  const deltas = provider.chat(request, new AbortController().signal)[Symbol.asyncIterator]()
  const first = t.rejects(deltas.next(), { message: /Nobody wants the rest/ })
  const leave = async () => t.same(await deltas.return?.(), { done: true, value: undefined })
  await first
  await closed
})
