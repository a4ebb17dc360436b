import { NodekeepError } from '@nodekeep/plugin-sdk'
import t from 'tap'
import { chat, createAiNode, usageOf } from '../fixtures/ai-node.ts'
import { type Script, scripted, stop, text, untilAborted, usage } from '../fixtures/scripted-provider.ts'

/** A prompt of 3 tokens. */
const messages = [{ role: 'user', content: 'x'.repeat(12) }]
const counted = { requests: 1, failed: 0, aborted: 0, estimated: 0 }
const down = (more = {}) => new NodekeepError('UPSTREAM_ERROR', 'Down.', more)

/** Returns a script that fails the first time and then replies. */
const failsOnce = (failure: () => AsyncIterable<unknown>): Script =>
  async function* (_request, _signal, turn) {
    if (turn === 0) yield* failure()
    yield usage(100, 7)
    yield stop
  }

async function* thinks() {
  yield { type: 'reasoning', text: 'x'.repeat(40_000) }
  throw down()
}

async function* tells() {
  yield usage(1000, 500)
  throw down()
}

async function* tellsAndThinks() {
  yield usage(1000, 500)
  yield* thinks()
}

async function* isSlow() {
  yield* []
  throw new NodekeepError('UPSTREAM_TIMEOUT', 'Slow.')
}

async function* refuses() {
  yield* []
  throw down()
}

t.test('The tokens of failed calls are counted with the call that replies', async (t) => {
  const failures = { refuses, isSlow, thinks, tells, tellsAndThinks }
  const providers = Object.fromEntries(
    Object.entries(failures).map(([name, failure]) => [name, scripted(failsOnce(failure))]),
  )
  const node = await createAiNode({ providers })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  for (const provider of Object.keys(providers))
    t.equal((await chat(ada, { provider, messages })).status, 200)
  const expected = {
    isSlow: { inputTokens: 103, outputTokens: 7, estimated: 1 },
    refuses: { inputTokens: 100, outputTokens: 7 },
    tells: { inputTokens: 1100, outputTokens: 507 },
    tellsAndThinks: { inputTokens: 1100, outputTokens: 10_007, estimated: 1 },
    thinks: { inputTokens: 103, outputTokens: 10_007, estimated: 1 },
  }
  t.strictSame(
    await usageOf(ada),
    Object.entries(expected).map(([provider, row]) => ({ provider, model: 'large', ...counted, ...row })),
  )
})

t.test('All calls of a chat are one row, of the replying model or else of the requested one', async (t) => {
  const failing = scripted(tells)
  const local = scripted(() => [text('x'), stop])
  const fallbacks = { 'failing/large': ['local/llama'], 'failing/small': ['failing/other'] }
  const node = await createAiNode({
    providers: { failing, local },
    ai: { fallbacks, retries: { max: 1 } },
  })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  t.equal((await chat(ada, { provider: 'failing', messages })).status, 200)
  t.equal((await chat(ada, { provider: 'failing', model: 'small', messages })).status, 502)
  t.equal(failing.calls.length, 6)
  t.strictSame(await usageOf(ada), [
    { provider: 'failing', model: 'small', ...counted, failed: 1, inputTokens: 4000, outputTokens: 2000 },
    { provider: 'local', model: 'llama', ...counted, estimated: 1, inputTokens: 2003, outputTokens: 1001 },
  ])
})

t.test('The tokens of a day include failed calls, even while the chat runs', async (t) => {
  const acme = scripted(async function* (_request, signal, turn) {
    if (turn === 0) yield* tells()
    yield text('x')
    await untilAborted(signal)
  })
  const plain = scripted(() => [text('x'), stop])
  const ai = { limits: { tokensPerDay: 1500 } }
  const node = await createAiNode({ providers: { acme, plain }, ai })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const running = await chat(ada, { messages, stream: true })
  t.equal((await chat(ada, { provider: 'plain' })).status, 429)
  await running.body?.cancel()
  while (!acme.last.signal.aborted) await ada.fetch('/whoami')
  t.equal((await chat(ada, { provider: 'plain' })).status, 429)
  t.equal(plain.calls.length, 0)
})
