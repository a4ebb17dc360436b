import { once } from 'node:events'
import type { ModelHttpAnswer } from '@nodekeep/plugin-sdk/conformance/ai'
import { test } from 'tap'
import { createChatNode } from './chat-node.ts'
import { chat, chatError, textOf } from './chatting.ts'
import { callLine, lastLine, line, replyLines, textLines } from './ollama-wire.ts'

const lines =
  (...all: readonly string[]): ModelHttpAnswer =>
  (response) => {
    response.writeHead(200, { 'content-type': 'application/x-ndjson' }).end(all.join(''))
  }

test('Thoughts are not part of the reply', async (t) => {
  const { provider, server } = await createChatNode(t)
  const thinking = line({ message: { role: 'assistant', content: '', thinking: 'Peru…' }, done: false })
  server.answer = lines(thinking, ...textLines(['', 'Lima']), lastLine({}))
  const deltas = await chat(provider)
  t.same(deltas, [
    { type: 'reasoning', text: 'Peru…' },
    // A piece that adds nothing is yielded, so that it counts.
    { type: 'text', text: '' },
    { type: 'text', text: 'Lima' },
    { type: 'finish', reason: 'stop' },
  ])
})

test('Each reason to end has a reason of the contract', async (t) => {
  const { provider, server } = await createChatNode(t)
  const call = callLine({ id: 'call_1', name: 'clock', arguments: '{}' }, 0)
  for (const [begin, end, reason] of [
    ['', { done_reason: 'stop' }, 'stop'],
    ['', { done_reason: 'length' }, 'length'],
    ['', { done_reason: 'load' }, 'stop'],
    ['', { done_reason: undefined }, 'stop'],
    [call, { done_reason: 'stop' }, 'tool_calls'],
    [call, { done_reason: 'length' }, 'length'],
  ] as const) {
    server.answer = lines(begin, lastLine(end))
    t.same((await chat(provider)).at(-1), { type: 'finish', reason })
  }
})

test('A tool call without an id gets one', async (t) => {
  const { provider, server } = await createChatNode(t)
  const calls = ['look', 'clock'].map((name) => ({ function: { name, arguments: { at: 'map' } } }))
  const called = line({ message: { role: 'assistant', content: '', tool_calls: calls }, done: false })
  server.answer = lines(called, called, lastLine({}))
  const ids = new Set<string>()
  const received = (await chat(provider)).flatMap((delta) => {
    if (delta.type !== 'tool_call') return []
    ids.add(delta.id ?? '')
    return [[delta.index, delta.name, delta.arguments]]
  })
  t.same(received, [
    [0, 'look', '{"at":"map"}'],
    [1, 'clock', '{"at":"map"}'],
    [2, 'look', '{"at":"map"}'],
    [3, 'clock', '{"at":"map"}'],
  ])
  t.equal(ids.size, 4)
})

test('The arguments of a tool call may be JSON text', async (t) => {
  const { provider, server } = await createChatNode(t)
  const tool_calls = [{ function: { name: 'clock', arguments: '{"at":"map"}' } }]
  server.answer = lines(
    line({ message: { role: 'assistant', content: '', tool_calls }, done: false }),
    lastLine({}),
  )
  const call = (await chat(provider)).find(({ type }) => type === 'tool_call')
  t.match(call, { name: 'clock', arguments: '{"at":"map"}' })
})

test('A missing count of tokens is 0; if both are missing or one is invalid, the reply has no usage', async (t) => {
  const { provider, server } = await createChatNode(t)
  for (const [counts, usages] of [
    [{ prompt_eval_count: 11, eval_count: 7 }, [{ type: 'usage', inputTokens: 11, outputTokens: 7 }]],
    [{ eval_count: 7 }, [{ type: 'usage', inputTokens: 0, outputTokens: 7 }]],
    [{}, []],
    [{ prompt_eval_count: null, eval_count: null }, []],
    [{ prompt_eval_count: 11, eval_count: -1 }, []],
    [{ prompt_eval_count: 1.5, eval_count: 7 }, []],
    [{ prompt_eval_count: '11', eval_count: 7 }, []],
  ] as const) {
    server.answer = lines(lastLine(counts))
    t.same(
      (await chat(provider)).filter(({ type }) => type === 'usage'),
      usages,
    )
  }
})

test('An empty error field is no error', async (t) => {
  const { provider, server } = await createChatNode(t)
  const whole = replyLines({ kind: 'reply', text: ['Li', 'ma'], finish: 'stop' })
  server.answer = lines(...whole.map((text) => text.replace('{', '{"error":null,')))
  t.equal(textOf(await chat(provider)), 'Lima')
})

test('Lines may have any line end, and the last line may have none', async (t) => {
  const { provider, server } = await createChatNode(t)
  const whole = replyLines({ kind: 'reply', text: ['Li', 'ma'], finish: 'stop' })
  server.answer = lines('\n', ...whole.map((text) => `${text.trim()}\r\n\r\n`))
  t.equal(textOf(await chat(provider)), 'Lima')
  server.answer = lines(whole.join('').trim())
  t.equal(textOf(await chat(provider)), 'Lima')
})

test('Connections are reused', async (t) => {
  const { provider, server } = await createChatNode(t)
  const sockets = new Set<unknown>()
  server.answer = (response, request) => {
    sockets.add(request.socket)
    lines(...replyLines({ kind: 'reply', text: ['Lima'], finish: 'stop' }))(response, request)
  }
  for (let chats = 0; chats < 5; chats += 1) await chat(provider)
  t.ok(sockets.size < 5, `The provider opened ${sockets.size} connections.`)
})

test('The reader can leave at the end of a reply whose connection stays open', async (t) => {
  const { provider, server } = await createChatNode(t)
  let closed: Promise<unknown> | undefined
  server.answer = (response) => {
    closed = once(response, 'close')
    response.writeHead(200, { 'content-type': 'application/x-ndjson' })
    response.write([...textLines(['Lima']), lastLine({})].join(''))
  }
  const request = { model: 'llama3.2:latest', messages: [{ role: 'user', content: 'Well?' }] } as const
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
  const request = { model: 'llama3.2:latest', messages: [{ role: 'user', content: 'Well?' }] } as const
  const deltas = provider.chat(request, new AbortController().signal)[Symbol.asyncIterator]()
  const first = deltas.next()
  const leave = async () => t.same(await deltas.return?.(), { done: true, value: undefined })
  t.same(await first, { done: true, value: undefined })
  await closed
})

test('An answer that is not a reply is an upstream error', async (t) => {
  const { provider, server } = await createChatNode(t)
  for (const body of [
    '',
    'null\n',
    '[]\n',
    '"text"\n',
    '<h1>It works!</h1>\n',
    '{"done":false}\n',
    line({ message: { tool_calls: [{}] }, done: false }) + lastLine({}),
    line({ message: { tool_calls: 7 }, done: false }) + lastLine({}),
  ]) {
    server.answer = lines(body)
    t.match(await chatError(provider), { code: 'UPSTREAM_ERROR', permanent: false }, body)
  }
})
