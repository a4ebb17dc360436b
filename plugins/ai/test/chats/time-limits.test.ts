import t from 'tap'
import { chat, createAiNode, usageOf } from '../fixtures/ai-node.ts'
import { readEvents } from '../fixtures/events.ts'
import { rawChat, unchunked } from '../fixtures/raw-chat.ts'
import {
  replying,
  type ScriptedProvider,
  scripted,
  stop,
  text,
  usage,
} from '../fixtures/scripted-provider.ts'
import { untilStable } from '../fixtures/until-stable.ts'

const never = new Promise<never>(() => {})

t.test(
  'A call without an answer ends at its time limit, even if the provider ignores its signal',
  async (t) => {
    const silent = scripted(async function* () {
      await never
      yield stop
    })
    const timeouts = { firstSeconds: 0.05 }
    const fallbacks = { 'silent/replaced': ['local/llama'] }
    const providers = { silent, local: replying('here') }
    const node = await createAiNode({ providers, ai: { timeouts, fallbacks } })
    t.teardown(() => node.stop())
    const ada = await node.signIn()
    for (const stream of [true, false]) {
      const answer = await chat(ada, { provider: 'silent', stream })
      t.equal(answer.status, 504)
      t.match(await answer.json(), {
        code: 'UPSTREAM_TIMEOUT',
        message: 'The AI provider "silent" did not begin to reply in time.',
      })
      t.ok(silent.last.signal.aborted)
      t.ok(silent.last.returned)
    }
    t.equal(silent.calls.length, 2, 'The call is not retried, because a retry would take as long.')
    t.match(await (await chat(ada, { provider: 'silent', model: 'replaced' })).json(), { provider: 'local' })
    const row = (await usageOf(ada)).find(({ provider }) => provider === 'silent')
    t.match(
      row,
      { requests: 2, failed: 2, inputTokens: 4, outputTokens: 0, estimated: 2 },
      'The call is counted, because the provider worked on it.',
    )
  },
)

t.test('A reply that stalls is cut off', async (t) => {
  const stalling = scripted(async function* () {
    yield text('so far')
    await never
  })
  const node = await createAiNode({ providers: { stalling }, ai: { timeouts: { betweenSeconds: 0.05 } } })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const answer = readEvents(await (await chat(ada, { provider: 'stalling', stream: true })).text())
  t.match(answer, {
    text: 'so far',
    error: { code: 'UPSTREAM_TIMEOUT', message: /in the middle of its reply/ },
  })
  t.ok(stalling.last.signal.aborted)
  t.equal((await chat(ada, { provider: 'stalling' })).status, 504)
})

t.test('A slow reply that does not stall is not cut off', async (t) => {
  const slow = scripted(async function* () {
    for (let n = 0; n < 10; n += 1) {
      await new Promise((resolve) => setTimeout(resolve, 60))
      yield n % 2 === 0 ? text(`${n}`) : usage(n, n)
    }
    yield stop
  })
  const timeouts = { firstSeconds: 0.5, betweenSeconds: 0.5 }
  const node = await createAiNode({ providers: { slow }, ai: { timeouts } })
  t.teardown(() => node.stop())
  const answer = await chat(await node.signIn(), { provider: 'slow', stream: true })
  t.match(readEvents(await answer.text()), { text: '02468', error: null })
})

t.test('A slow client does not count as a slow provider', async (t) => {
  const acme = scripted(function* () {
    for (let n = 0; n < 12_000; n += 1) yield text('x'.repeat(1000))
    yield stop
  })
  const node = await createAiNode({ providers: { acme }, ai: { timeouts: { betweenSeconds: 0.05 } } })
  t.teardown(() => node.stop())
  const connection = await rawChat(node, await node.signIn(), { stream: true })
  await connection.until(/"chunk"/)
  connection.socket.pause()
  await untilStable(() => acme.last.asked)
  connection.socket.resume()
  t.match(readEvents(unchunked(await connection.rest())), { error: null })
})

t.test('An endless reply and endless retries end at the time limit', async (t) => {
  const providers = {
    talks: scripted(async function* () {
      for (;;) {
        yield text('x')
        await new Promise((resolve) => setImmediate(resolve))
      }
    }),
    fails: scripted(() => {
      throw new Error('fault')
    }),
  }
  const ai = {
    timeouts: { totalSeconds: 0.3 },
    retries: { max: 10, firstDelayMs: 10_000, longestDelayMs: 10_000 },
  }
  const node = await createAiNode({ providers, ai })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const ask = async ([provider, { calls }]: [string, ScriptedProvider]) => {
    const answer = await chat(ada, { provider })
    t.equal(answer.status, 504, provider)
    t.match(await answer.json(), { message: 'The chat took longer than allowed (ai.timeouts.totalSeconds).' })
    t.ok(calls[0]?.signal.aborted)
  }
  await Promise.all(Object.entries(providers).map(ask))
})

t.test('Empty texts do not prolong the wait for a reply', async (t) => {
  const { promise: isAborted, resolve } = Promise.withResolvers<void>()
  const dripping = scripted(async function* (_request, signal) {
    signal.addEventListener('abort', () => resolve())
    for (;;) {
      yield text('')
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  })
  const thinking = scripted(async function* () {
    for (let n = 0; n < 40; n += 1) {
      yield { type: 'reasoning', text: '' }
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    yield* [text('Lima'), stop]
  })
  const providers = { dripping, thinking }
  const node = await createAiNode({ providers, ai: { timeouts: { firstSeconds: 0.3 } } })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  t.match(await (await chat(ada, { provider: 'dripping' })).json(), {
    message: 'The AI provider "dripping" did not begin to reply in time.',
  })
  await isAborted
  t.match(await (await chat(ada, { provider: 'thinking' })).json(), { message: { content: 'Lima' } })
})
