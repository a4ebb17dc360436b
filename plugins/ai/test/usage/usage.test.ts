import { NodekeepError } from '@nodekeep/plugin-sdk'
import t from 'tap'
import { chat, createAiNode, usageOf } from '../fixtures/ai-node.ts'
import { captureChats } from '../fixtures/captured-chats.ts'
import { scripted, stop, text, untilAborted, usage } from '../fixtures/scripted-provider.ts'

const none = { requests: 1, failed: 0, aborted: 0, inputTokens: 0, outputTokens: 0, estimated: 0 }

t.test('Every end of a chat counts its usage', async (t) => {
  const down = () => new NodekeepError('UPSTREAM_ERROR', 'Down.', { permanent: true })
  const messages = [
    { role: 'system', content: 'Four' },
    { role: 'user', content: 'ééé' },
  ]
  const providers = {
    // 10 bytes of prompt are 3 tokens, and 9 bytes of reply are 3 tokens.
    counted: scripted(() => [usage(100, 0), text('xxxxxxxxx'), usage(100, 7), stop]),
    uncounted: scripted(() => [text('xxxxx'), text('xxxx'), stop]),
    refused: scripted(() => {
      throw down()
    }),
    cut: scripted(async function* () {
      yield text('xxxxxxxxx')
      throw down()
    }),
    'counted-and-cut': scripted(async function* () {
      yield usage(100, 1)
      yield text('xxxxxxxxx')
      throw down()
    }),
    'all-counted-and-cut': scripted(async function* () {
      yield text('xxxxxxxxx')
      yield usage(100, 8)
      throw down()
    }),
    left: scripted(async function* (_request, signal) {
      yield text('xxxxxxxxx')
      await untilAborted(signal)
    }),
    'left-in-thought': scripted(async function* (_request, signal) {
      yield { type: 'reasoning', text: 'xxxxxxxx' }
      yield text('x')
      await untilAborted(signal)
    }),
    'counted-and-left': scripted(async function* (_request, signal) {
      yield usage(100, 1)
      yield text('xxxxxxxxx')
      await untilAborted(signal)
    }),
    'left-at-once': scripted(async function* (_request, signal) {
      await untilAborted(signal)
      yield stop
    }),
  }
  const node = await createAiNode({ providers })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  for (const provider of [
    'counted',
    'uncounted',
    'refused',
    'cut',
    'counted-and-cut',
    'all-counted-and-cut',
  ]) {
    await (await chat(ada, { provider, messages, stream: true })).text()
  }
  for (const provider of ['left', 'left-in-thought', 'counted-and-left'] as const) {
    const answer = await chat(ada, { provider, messages, stream: true })
    await answer.body?.cancel()
    while (!providers[provider].last.signal.aborted) await ada.fetch('/whoami')
  }
  const abort = new AbortController()
  const given = chat(ada, { provider: 'left-at-once', messages }, { signal: abort.signal })
  given.catch(() => {})
  while (providers['left-at-once'].calls.length === 0) await ada.fetch('/whoami')
  abort.abort()
  await t.rejects(given)
  while (!providers['left-at-once'].last.signal.aborted) await ada.fetch('/whoami')

  const rows = new Map((await usageOf(ada)).map(({ provider, ...row }) => [provider, row]))
  const expected = {
    counted: { inputTokens: 100, outputTokens: 7 },
    uncounted: { inputTokens: 3, outputTokens: 3, estimated: 1 },
    refused: { failed: 1 },
    cut: { failed: 1, inputTokens: 3, outputTokens: 3, estimated: 1 },
    'counted-and-cut': { failed: 1, inputTokens: 100, outputTokens: 3, estimated: 1 },
    'all-counted-and-cut': { failed: 1, inputTokens: 100, outputTokens: 8 },
    left: { aborted: 1, inputTokens: 3, outputTokens: 3, estimated: 1 },
    'left-in-thought': { aborted: 1, inputTokens: 3, outputTokens: 3, estimated: 1 },
    'counted-and-left': { aborted: 1, inputTokens: 100, outputTokens: 3, estimated: 1 },
    'left-at-once': { aborted: 1, inputTokens: 3, estimated: 1 },
  }
  for (const [provider, row] of Object.entries(expected)) {
    t.strictSame(rows.get(provider), { model: 'large', ...none, ...row }, provider)
  }
  t.equal(rows.size, Object.keys(expected).length)
})

t.test('A refused chat counts no tokens, even if its client disconnects before the retry', async (t) => {
  const headers = { 'retry-after': '60' }
  const refusing = scripted(() => {
    throw new NodekeepError('UPSTREAM_ERROR', 'Down.', { headers })
  })
  const slow = scripted(() => {
    throw new NodekeepError('UPSTREAM_TIMEOUT', 'Slow.', { headers })
  })
  const node = await createAiNode({
    providers: { refusing, slow },
    ai: { retries: { longestDelayMs: 60_000 } },
  })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  for (const [provider, source] of Object.entries({ refusing, slow })) {
    const abort = new AbortController()
    const given = chat(ada, { provider }, { signal: abort.signal })
    given.catch(() => {})
    while (source.calls.length === 0) await ada.fetch('/whoami')
    abort.abort()
    await t.rejects(given)
  }
  let rows: Record<string, unknown>[] = []
  while (rows.length < 2) rows = await usageOf(ada)
  t.match(rows, [
    { provider: 'refusing', aborted: 1, inputTokens: 0, estimated: 0 },
    { provider: 'slow', aborted: 1, inputTokens: 2, estimated: 1 },
  ])
})

t.test('Usage is kept by user, day and model, over restarts, until the user is erased', async (t) => {
  const dataFolder = t.testdir()
  const acme = scripted(() => [text('x'), usage(2, 3), stop])
  const start = async () => {
    const captured = captureChats()
    const node = await createAiNode({ providers: { acme }, dataFolder, plugins: [captured.plugin] })
    t.teardown(() => node.stop())
    return { node, captured }
  }
  const first = await start()
  const [ada, bob] = [await first.node.signIn(), await first.node.signIn()]
  for (const model of ['large', 'small', 'large']) await chat(ada, { model })
  await chat(bob)
  const today = new Date().toISOString().slice(0, 10)
  const { usage: reported } = (await (await ada.fetch('/api/ai/usage')).json()) as {
    usage: { day: string }[]
  }
  t.ok(reported.every(({ day }) => day >= today))
  await first.node.stop()

  const { node, captured } = await start()
  const [owner, eve] = [await node.signIn('owner'), await node.signIn()]
  const of = (user: typeof ada) => usageOf(owner, `?user=${user.user.uuid}`)
  const large = { provider: 'acme', model: 'large', ...none, inputTokens: 2, outputTokens: 3 }
  const twice = { ...large, requests: 2, inputTokens: 4, outputTokens: 6 }
  t.strictSame(await of(ada), [twice, { ...large, model: 'small' }])
  t.strictSame(await of(bob), [large])
  t.strictSame(await of(eve), [])
  t.strictSame(await usageOf(owner), [], 'The report of a user has no rows of other users.')

  const { signal } = new AbortController()
  await captured.userData.get('ai')?.erase(ada.user.uuid, signal)
  await captured.userData.get('ai')?.erase(ada.user.uuid, signal)
  t.strictSame(await of(ada), [])
  t.strictSame(await of(bob), [large])
  await node.stop()

  const third = await start()
  const again = await third.node.signIn('owner')
  t.strictSame(
    await usageOf(again, `?user=${ada.user.uuid}`),
    [],
    'The usage stays erased after another restart.',
  )
  t.strictSame(await usageOf(again, `?user=${bob.user.uuid}`), [large])
})

t.test('Beyond a number of models, a day counts further models together', async (t) => {
  const acme = scripted(() => [usage(1, 1), stop])
  const node = await createAiNode({ providers: { acme }, ai: { limits: { requestsPerMinute: 1000 } } })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  for (let n = 0; n < 210; n += 1) await (await chat(ada, { model: `model-${n}` })).text()
  const rows = await usageOf(ada)
  t.equal(rows.length, 201)
  t.match(rows[0], { provider: 'acme', model: '(others)', requests: 10, inputTokens: 10 })
})
