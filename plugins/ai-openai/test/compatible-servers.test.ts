import { test } from 'tap'
import { chat, subject, textOf } from './fixtures/chatting.ts'
import { begin, sendJson } from './openai-server.ts'
import { chunk, delta, done, event } from './openai-wire.ts'

const finish = { type: 'finish', reason: 'stop' } as const

test('A server may omit the count of tokens or send it in another place', async (t) => {
  const { server, provider } = await subject(t)
  const counted = { prompt_tokens: 3, completion_tokens: 5 }
  const usage = { type: 'usage', inputTokens: 3, outputTokens: 5 }
  const cases: [name: string, events: string[], expected: object[]][] = [
    ['none', [delta({ content: 'Hi' }), delta({}, 'stop'), done], [finish]],
    ['null at the end', [delta({}, 'stop'), chunk([], { usage: null }), done], [finish]],
    ['no list of choices', [delta({}, 'stop'), event({ usage: counted }), done], [usage, finish]],
    [
      'in the last piece',
      [chunk([{ delta: {}, finish_reason: 'stop' }], { usage: counted }), done],
      [usage, finish],
    ],
    [
      'in each piece',
      [
        chunk([{ delta: { content: '' } }], { usage: { prompt_tokens: 3, completion_tokens: 0 } }),
        chunk([{ delta: {} }], { usage: counted }),
        chunk([{ delta: {}, finish_reason: 'stop' }], { usage: counted }),
        done,
      ],
      [{ type: 'usage', inputTokens: 3, outputTokens: 0 }, usage, finish],
    ],
    [
      'no numbers',
      [delta({}, 'stop'), chunk([], { usage: { prompt_tokens: '3', completion_tokens: -1 } })],
      [finish],
    ],
    ['without [DONE]', [delta({}, 'stop')], [finish]],
  ]
  for (const [name, events, expected] of cases) {
    server.answer = (response) => begin(response).end(events.join(''))
    const deltas = await chat(provider)
    t.strictSame(
      deltas.filter(({ type }) => type !== 'text'),
      expected,
      name,
    )
  }
})

test('Events may have other line ends, comments and fields', async (t) => {
  const { server, provider } = await subject(t)
  server.answer = (response) => {
    const events = [
      delta({ role: 'assistant', content: 'Hel' }),
      delta({ content: 'lo' }),
      delta({}, 'stop'),
      done,
    ]
    begin(response).end(
      `: OPENROUTER PROCESSING\n\n${events.join('event: x\nid: 7\n: ping\n')}`.replaceAll('\n', '\r\n'),
    )
  }
  t.equal(textOf(await chat(provider)), 'Hello')
})

test('Each reason to finish has a reason of the contract', async (t) => {
  const { server, provider } = await subject(t)
  const call = { tool_calls: [{ index: 0, id: 'a', function: { name: 'clock', arguments: '{}' } }] }
  for (const [said, content, expected] of [
    ['eos', {}, 'stop'],
    ['function_call', {}, 'tool_calls'],
    // OpenAI ends a reply in this way if the request forces a tool call.
    ['stop', call, 'tool_calls'],
    ['length', call, 'length'],
  ] as const) {
    server.answer = (response) => begin(response).end(delta(content) + delta({}, said))
    t.strictSame((await chat(provider)).at(-1), { type: 'finish', reason: expected })
  }
  server.answer = (response) => begin(response).end(delta({}, 'length') + delta({}, '') + delta({}) + done)
  t.strictSame(
    (await chat(provider)).at(-1),
    { type: 'finish', reason: 'length' },
    'An empty reason is none.',
  )
  for (const end of ['', delta({}, ''), delta({}, null), delta({}, 'error'), done]) {
    server.answer = (response) => begin(response).end(delta({ content: 'Hi' }) + end)
    await t.rejects(chat(provider), { code: 'UPSTREAM_ERROR' }, 'A reply without a reason is not whole.')
  }
})

test('The provider reads the incomplete tool calls of some servers', async (t) => {
  const { server, provider } = await subject(t)
  const clock = { name: 'clock', arguments: '{}' }
  const cases: [name: string, calls: object[], expected: string[]][] = [
    [
      'no index',
      [
        { id: 'a', function: clock },
        { id: 'b', function: clock },
      ],
      ['0 a clock {}', '1 b clock {}'],
    ],
    [
      'index 0 for all',
      [
        { index: 0, id: 'a', function: clock },
        { index: 0, id: 'b', function: clock },
      ],
      ['0 a clock {}', '1 b clock {}'],
    ],
    [
      'no id',
      [
        { index: 0, function: clock },
        { index: 1, function: clock },
      ],
      ['0 call_0 clock {}', '1 call_1 clock {}'],
    ],
    [
      'id and name again and again',
      [
        { index: 0, id: 'a', function: { name: 'clock', arguments: '{"a"' } },
        { index: 0, id: 'a', function: { name: 'clock', arguments: ':1}' } },
      ],
      ['0 a clock {"a"', '0   :1}'],
    ],
    ['an index that does not begin with 0', [{ index: 3, id: 'a', function: clock }], ['0 a clock {}']],
    [
      'arguments that are no text',
      [{ index: 0, id: 'a', function: { name: 'clock', arguments: { a: 1 } } }],
      ['0 a clock {"a":1}'],
    ],
    ['no arguments', [{ index: 0, id: 'a', function: { name: 'clock' } }], ['0 a clock ']],
    [
      'neither index nor id',
      [
        { function: { name: 'clock', arguments: '{"a":"\\"}{"}' } },
        { id: '', function: { name: 'clock', arguments: '{}' } },
        { index: null, id: null, function: { name: 'map', arguments: '{"a":{' } },
        { function: { arguments: '"b":1}}' } },
      ],
      ['0 call_0 clock {"a":"\\"}{"}', '1 call_1 clock {}', '2 call_2 map {"a":{', '2   "b":1}}'],
    ],
    [
      'index 0 for all, and no id',
      [
        { index: 0, function: { name: 'clock', arguments: '{"a":1}' } },
        { index: 0, function: { name: 'map', arguments: '{"a":2}' } },
      ],
      ['0 call_0 clock {"a":1}', '1 call_1 map {"a":2}'],
    ],
    [
      'neither index nor id nor arguments',
      [{ function: { name: 'clock' } }, { function: { name: 'map' } }],
      ['0 call_0 clock ', '1 call_1 map '],
    ],
    [
      'another id in each piece',
      [
        { index: 0, id: 'a', function: { name: 'clock', arguments: '' } },
        { index: 0, id: 'b', function: { arguments: '{"a"' } },
        { index: 0, id: 'c', function: { name: 'clock', arguments: ':1' } },
        { index: 0, id: 'd', function: { arguments: '}' } },
      ],
      ['0 a clock ', '0   {"a"', '0   :1', '0   }'],
    ],
    [
      'the same id for two calls',
      [
        { index: 0, id: 'a', function: { name: 'clock', arguments: '{}' } },
        { index: 1, id: 'a', function: { name: 'map', arguments: '{}' } },
        { index: 1, id: 'a', function: { name: 'map', arguments: '' } },
      ],
      ['0 a clock {}', '1 call_1 map {}', '1   '],
    ],
  ]
  for (const [name, calls, expected] of cases) {
    server.answer = (response) => {
      const pieces = calls.map((call) => delta({ tool_calls: [call] }))
      begin(response).end(`${pieces.join('')}${delta({}, 'tool_calls')}${done}`)
    }
    const received = (await chat(provider)).flatMap((piece) =>
      piece.type === 'tool_call'
        ? [`${piece.index} ${piece.id ?? ''} ${piece.name ?? ''} ${piece.arguments ?? ''}`]
        : [],
    )
    t.strictSame(received, expected, name)
  }
  server.answer = (response) =>
    begin(response).end(delta({ tool_calls: [{ index: 0, id: 'a' }] }) + delta({}, 'stop'))
  await t.rejects(chat(provider), { code: 'UPSTREAM_ERROR' }, 'A call without a name is not a call.')
  const second = { index: 0, function: { name: '', arguments: '{"a":2}' } }
  server.answer = (response) => {
    const calls = [{ index: 0, id: 'a', function: { name: 'clock', arguments: '{"a":1}' } }, second]
    begin(response).end(calls.map((call) => delta({ tool_calls: [call] })).join('') + delta({}, 'stop'))
  }
  await t.rejects(chat(provider), { code: 'UPSTREAM_ERROR' }, 'Two objects of arguments are no arguments.')
  const many = Array.from({ length: 50_000 }, (_, index) => ({ id: `${index}`, function: { name: 'a' } }))
  server.answer = (response) => begin(response).end(delta({ tool_calls: many }) + delta({}, 'stop'))
  await t.rejects(chat(provider), { code: 'UPSTREAM_ERROR', cause: { message: /more than 1000 tool calls/ } })
})

test('A refusal is text, and thoughts are not', async (t) => {
  const { server, provider } = await subject(t)
  server.answer = (response) => {
    const deltas = [
      { reasoning_content: 'Hm.' },
      { reasoning: 'Hm.' },
      { content: null, refusal: 'I cannot' },
      { refusal: ' do that.' },
    ]
    begin(response).end(deltas.map((each) => delta(each)).join('') + delta({}, 'stop') + done)
  }
  const deltas = await chat(provider)
  t.equal(textOf(deltas), 'I cannot do that.')
  const thought = { type: 'reasoning', text: 'Hm.' }
  t.strictSame(deltas.slice(0, 2), [thought, thought])
  t.strictSame(deltas.at(-1), { type: 'finish', reason: 'content_filter' })
})

test('A content may be a list of parts', async (t) => {
  const { server, provider } = await subject(t)
  server.answer = (response) => {
    const contents = [
      '',
      [
        {
          type: 'thinking',
          thinking: [
            { type: 'text', text: 'A ' },
            { type: 'text', text: 'capital?' },
          ],
        },
      ],
      [
        { type: 'thinking', thinking: ' Of Peru.', closed: true },
        { type: 'reasoning', summary: [{ type: 'summary_text', text: 'So' }] },
        { type: 'text', text: 'Li' },
      ],
      [
        { type: 'text', text: 'm' },
        { type: 'reference', reference_ids: [1] },
      ],
      'a',
      [],
    ]
    begin(response).end(contents.map((content) => delta({ content })).join('') + delta({}, 'stop') + done)
  }
  const deltas = await chat(provider)
  t.equal(textOf(deltas), 'Lima')
  const thoughts = deltas.flatMap((each) => (each.type === 'reasoning' ? [each.text] : []))
  t.strictSame(thoughts, ['A capital?', ' Of Peru.', 'So'])
})

test('Events with blank data keep the connection open', async (t) => {
  const { server, provider } = await subject(t)
  for (const nothing of ['data:\n\n', 'data: \r\n\r\n', 'event: ping\ndata:\n\n']) {
    server.answer = (response) => {
      const events = ['', delta({ content: 'Li' }), delta({ content: 'ma' }), delta({}, 'stop'), done]
      begin(response).end(events.join(nothing))
    }
    t.equal(textOf(await chat(provider)), 'Lima', JSON.stringify(nothing))
  }
})

test('A server may answer the request for a stream with a whole reply', async (t) => {
  const { server, provider } = await subject(t)
  const tool_calls = [
    { id: 'a', type: 'function', function: { name: 'clock', arguments: '{}' } },
    { id: '', type: 'function', function: { name: 'clock', arguments: '{}' } },
  ]
  const message = { role: 'assistant', content: 'Lima', reasoning_content: 'Peru?', tool_calls }
  const whole = {
    object: 'chat.completion',
    choices: [{ index: 0, message, finish_reason: 'tool_calls' }],
    usage: { prompt_tokens: 3, completion_tokens: 5 },
  }
  for (const type of ['application/json', 'text/event-stream', 'text/plain']) {
    server.answer = (response) =>
      response.writeHead(200, { 'content-type': type }).end(JSON.stringify(whole, null, 2))
    t.strictSame(await chat(provider), [
      { type: 'reasoning', text: 'Peru?' },
      { type: 'text', text: 'Lima' },
      { type: 'tool_call', index: 0, id: 'a', name: 'clock', arguments: '{}' },
      { type: 'tool_call', index: 1, id: 'call_1', name: 'clock', arguments: '{}' },
      { type: 'usage', inputTokens: 3, outputTokens: 5 },
      { type: 'finish', reason: 'tool_calls' },
    ])
  }
})

test('The reason of an error with the status of a success is passed on', async (t) => {
  const { server, provider } = await subject(t)
  const refused = { code: 'VALIDATION_ERROR', permanent: true, message: /It says: Too long\.$/ }
  for (const [body, expected] of [
    // LM Studio
    [{ error: 'Too long.' }, refused],
    [{ error: { message: 'Too long.', type: 'invalid_request_error', code: null } }, refused],
    [{ object: 'error', message: 'Too long.', code: 400 }, refused],
    [{ detail: 'Too long.' }, refused],
    [{ error: { message: 'Wait.', code: 'rate_limit_exceeded' } }, { code: 'TOO_MANY_REQUESTS' }],
    [{ error: { message: 'Wait.', code: '429' } }, { code: 'TOO_MANY_REQUESTS' }],
    [{ error: { message: 'Pay.', code: 'insufficient_quota' } }, { reason: 'insufficient_quota' }],
    [{ error: { message: 'No.', code: 503 } }, { code: 'UPSTREAM_ERROR', permanent: false }],
  ] as const) {
    server.answer = (response) => sendJson(response, 200, body)
    const thrown = await chat(provider).catch((error: unknown) => error)
    t.match(thrown, expected, JSON.stringify(body))
    t.equal(server.chats(), 1, 'The provider asks once.')
    await server.start()
  }
  server.answer = (response) =>
    begin(response).end(delta({ content: 'Hi' }) + event({ object: 'error', message: 'No.', code: 500 }))
  await t.rejects(chat(provider), { code: 'UPSTREAM_ERROR', cause: { message: /within the reply/ } })
})

test('An answer that is not a reply is an upstream error', async (t) => {
  const { server, provider } = await subject(t)
  for (const body of [
    '',
    '<!doctype html><title>Log in to this network</title>',
    '{"choices":[{"message":{"content":"Hi"},"finish_reason":null}]}',
    '{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]',
    'data: null\n\n',
    'data: "choices"\n\n',
    event({ choices: 'none' }),
    event({ choices: [null] }),
    delta({ content: { text: 'Hi' } }) + delta({}, 'stop'),
    delta({ content: 7 }) + delta({}, 'stop'),
    delta({ tool_calls: 7 }) + delta({}, 'stop'),
    delta({ tool_calls: [null] }) + delta({}, 'stop'),
  ]) {
    server.answer = (response) => begin(response).end(body)
    await t.rejects(chat(provider), { code: 'UPSTREAM_ERROR', name: 'NodekeepError' }, body)
  }
})
