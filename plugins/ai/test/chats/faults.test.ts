import { type AiProvider, NodekeepError } from '@nodekeep/plugin-sdk'
import t from 'tap'
import { chat, createAiNode, usageOf } from '../fixtures/ai-node.ts'
import { readEvents } from '../fixtures/events.ts'
import { scripted, stop, text } from '../fixtures/scripted-provider.ts'

/** Returns a provider that breaks the types of its contract. */
const broken = (chat: unknown): AiProvider => ({ models: async () => [], chat: chat as AiProvider['chat'] })

/** Returns a provider with an iterator that returns the results of `next`. */
const iterating = (next: () => unknown, rest: object = {}) =>
  broken(() => ({ [Symbol.asyncIterator]: () => ({ next, ...rest }) }))

/** Returns an object that throws on every access. */
function throwingObject(): object {
  const trap = () => {
    throw new Error('Access to the object.')
  }
  return new Proxy({}, { get: trap, has: trap, getPrototypeOf: trap, ownKeys: trap })
}

const thrown: unknown[] = [
  'a text',
  null,
  undefined,
  0,
  new Error('fault'),
  { code: 'X' },
  Symbol('fault'),
  () => {},
  throwingObject(),
]

t.test('Every fault of a provider before its first piece is an upstream error', async (t) => {
  const faults: AiProvider[] = [
    ...thrown.flatMap((what) => [
      broken(() => {
        throw what
      }),
      broken(() => Promise.reject(what)),
      iterating(() => {
        throw what
      }),
      iterating(() => Promise.reject(what)),
    ]),
    ...[undefined, null, 1, 'text', [], {}, [text('x'), stop], { next: () => {} }].map((what) =>
      broken(() => what),
    ),
    broken(() => ({ [Symbol.asyncIterator]: () => null })),
    broken(() => ({ [Symbol.asyncIterator]: () => ({}) })),
    ...[undefined, null, 1, 'text', {}, { value: 1 }, { done: true }, { done: false }].map((what) =>
      iterating(() => what),
    ),
    iterating(() => ({
      get value() {
        throw new Error('fault')
      },
    })),
    ...[
      undefined,
      null,
      'x',
      1,
      [],
      {},
      { type: 'x' },
      { type: 'text' },
      { type: 'text', text: 5 },
      { type: 'text', text: null },
      { type: 'reasoning' },
      { type: 'usage', inputTokens: 1 },
      { type: 'usage', inputTokens: -1, outputTokens: 1 },
      { type: 'usage', inputTokens: 1.5, outputTokens: 1 },
      { type: 'usage', inputTokens: Number.NaN, outputTokens: 1 },
      { type: 'usage', inputTokens: '1', outputTokens: 1 },
      { type: 'finish' },
      { type: 'finish', reason: 'end_turn' },
      { type: 'tool_call' },
      { type: 'tool_call', index: 0 },
      { type: 'tool_call', index: 0, id: 'call' },
      { type: 'tool_call', index: 0, name: 'tool', id: '' },
      { type: 'tool_call', index: -1 },
      { type: 'tool_call', index: 1000 },
      { type: 'tool_call', index: 2 ** 32 - 2 },
      { type: 'tool_call', index: 0, name: {} },
      { type: 'tool_call', index: 0, arguments: {} },
      { type: 'tool_call', index: 0, id: 4 },
    ].map((piece) => scripted(() => [piece, stop])),
  ]
  const providers = Object.fromEntries(faults.map((fault, n) => [`fault-${n}`, fault]))
  const node = await createAiNode({
    providers,
    ai: { limits: { requestsPerMinute: 1000 }, retries: { max: 0 } },
  })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  for (const provider of Object.keys(providers)) {
    for (const stream of [true, false]) {
      const answer = await chat(ada, { provider, stream })
      t.equal(answer.status, 502, provider)
      const error = (await answer.json()) as { message: string }
      t.match(error, { error: true, code: 'UPSTREAM_ERROR' })
      t.match(error.message, new RegExp(`^The AI provider "${provider}" (failed|broke off)`))
    }
  }
  const rows = await usageOf(ada)
  t.equal(rows.length, faults.length)
  for (const row of rows)
    t.match(row, { requests: 2, failed: 2, aborted: 0, inputTokens: 0, outputTokens: 0 })
  t.match(
    node.plugins().find(({ id }) => id === 'ai'),
    { state: 'active' },
  )
})

t.test('Every fault of a provider after its first piece ends the reply with an error event', async (t) => {
  const ends: unknown[] = [
    ...thrown.map((what) => Promise.reject(what)),
    { type: 'text', text: 5 },
    'x',
    null,
  ]
  for (const rejected of ends) Promise.resolve(rejected).catch(() => {})
  const providers = Object.fromEntries(
    ends.map((what, n) => [
      `fault-${n}`,
      scripted(async function* () {
        yield text('so far')
        yield await what
      }),
    ]),
  )
  const cut = scripted(() => [text('so far')])
  const node = await createAiNode({ providers: { ...providers, cut } })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  for (const provider of [...Object.keys(providers), 'cut']) {
    const answer = readEvents(await (await chat(ada, { provider, stream: true })).text())
    t.match(answer, { text: 'so far', error: { code: 'UPSTREAM_ERROR' } }, provider)
    t.equal((await chat(ada, { provider })).status, 502)
  }
  t.equal(cut.calls.length, 2, 'The call is not retried.')
  for (const row of await usageOf(ada)) {
    t.match(row, { requests: 2, failed: 2, inputTokens: 4, outputTokens: 4, estimated: 2 })
  }
})

t.test('The codes and headers of a provider do not pass as those of the node', async (t) => {
  const saying = (error: NodekeepError) =>
    scripted(() => {
      throw error
    })
  const headers = { 'retry-after': '9', 'set-cookie': 'session=stolen', location: 'http://elsewhere.test' }
  const node = await createAiNode({
    providers: {
      unauthorized: saying(new NodekeepError('UNAUTHORIZED', 'Sign in to elsewhere.', { headers })),
      busy: saying(new NodekeepError('TOO_MANY_REQUESTS', 'Wait.', { headers, permanent: true })),
      odd: saying(
        new NodekeepError('UNPROCESSABLE', 'That makes no sense.', { headers: { 'retry-after': 'soon' } }),
      ),
    },
  })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const unauthorized = await chat(ada, { provider: 'unauthorized' })
  t.equal(unauthorized.status, 502)
  t.match(await unauthorized.json(), { message: 'The AI provider "unauthorized" failed. Try again later.' })
  t.equal(unauthorized.headers.get('set-cookie'), null)
  const busy = await chat(ada, { provider: 'busy' })
  t.equal(busy.status, 429)
  t.equal(busy.headers.get('retry-after'), '9')
  t.equal(busy.headers.get('location'), null)
  const odd = await chat(ada, { provider: 'odd' })
  t.equal(odd.status, 422)
  t.equal(odd.headers.get('retry-after'), null)
})

t.test('The cause of a failure is logged and not sent', async (t) => {
  const lines: string[] = []
  const acme = scripted((_request, _signal, turn) => {
    if (turn === 0) throw new Error('the secret of acme')
    return [text('x'), Promise.reject(new Error('the other secret'))]
  })
  const options = { ai: { retries: { max: 0 } }, onLog: (line: string) => lines.push(line) }
  const node = await createAiNode({ providers: { acme }, ...options })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  t.notMatch(await (await chat(ada)).text(), /secret/)
  t.notMatch(await (await chat(ada, { stream: true })).text(), /secret/)
  t.ok(lines.some((line) => line.includes('the secret of acme')))
  t.ok(lines.some((line) => line.includes('the other secret')))
  t.notOk(
    lines.some((line) => line.includes('Hello')),
    'Prompts are not logged.',
  )
})

t.test('A stray error of a provider ends its own chat at most', async (t) => {
  const never = new Promise<never>(() => {})
  const providers = {
    'throws-later': scripted(async function* () {
      yield text('so far')
      setTimeout(() => {
        throw new Error('later')
      })
      await never
    }),
    'rejects-later': scripted(function* () {
      yield text('all')
      Promise.reject(new Error('later'))
      yield stop
    }),
  }
  const node = await createAiNode({ providers, ai: { limits: { chatsPerUser: 1 } } })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  await t.rejects(chat(ada, { provider: 'throws-later', stream: true }).then((answer) => answer.text()))
  await aborted(providers['throws-later'].last.signal)
  t.equal((await chat(ada, { provider: 'throws-later' })).status, 500)
  await aborted(providers['throws-later'].last.signal)
  t.match(readEvents(await (await chat(ada, { provider: 'rejects-later', stream: true })).text()), {
    text: 'all',
    error: null,
  })
  t.equal((await chat(ada, { provider: 'rejects-later' })).status, 200)
})

t.test('The node ends a call even if the iterator of the provider does not return', async (t) => {
  const ways = [
    () => {
      throw new Error('fault')
    },
    () => Promise.reject(new Error('fault')),
    () => new Promise(() => {}),
    () => null,
    undefined,
    'no function',
  ]
  const providers = Object.fromEntries(
    ways.map((way, n) => [
      `way-${n}`,
      iterating(() => ({ value: n % 2 ? null : text('x') }), { return: way }),
    ]),
  )
  const node = await createAiNode({ providers, ai: { maxReplyBytes: 1024, retries: { max: 0 } } })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  for (const provider of Object.keys(providers))
    t.equal((await chat(ada, { provider })).status, 502, provider)
  t.match(
    node.plugins().find(({ id }) => id === 'ai'),
    { state: 'active' },
  )
})

async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve))
}
