import { setTimeout as delay } from 'node:timers/promises'
import type { TestUser } from '@nodekeep/kernel/testing'
import { type AiProvider, NodekeepError } from '@nodekeep/plugin-sdk'
import t from 'tap'
import { chat, createAiNode } from './fixtures/ai-node.ts'

/** Returns a provider with a list of models from the test. It counts its calls. */
function listing(models: (signal: AbortSignal, turn: number) => unknown) {
  const provider = {
    asked: 0,
    models(signal: AbortSignal) {
      provider.asked += 1
      return models(signal, provider.asked - 1) as Promise<string[]>
    },
    chat: () => [] as unknown as ReturnType<AiProvider['chat']>,
  }
  return provider
}

const never = new Promise<never>(() => {})

async function models(user: TestUser): Promise<Record<string, string[]>> {
  const answer = await user.fetch('/api/ai/models')
  t.equal(answer.status, 200)
  const body = (await answer.json()) as { providers: Record<string, string[]> }
  t.strictSame(Object.keys(body), ['providers'])
  return body.providers
}

t.test('The list has every provider, and no models for a provider that fails', async (t) => {
  const providers = {
    acme: listing(async () => ['large', 'small', 'large', '']),
    none: listing(async () => []),
    throws: listing(() => {
      throw new Error('fault')
    }),
    rejects: listing(() => Promise.reject(null)),
    nothing: listing(() => undefined),
    odd: listing(() => ({ length: 3 })),
    mixed: listing(async () => ['fine', 7]),
    plain: listing(() => ['at once']),
    long: listing(async () => ['x'.repeat(512), 'x'.repeat(513)]),
    wide: listing(async () => Array.from({ length: 20_000 }, (_, n) => `m${n}`)),
  }
  const lines: string[] = []
  const node = await createAiNode({ providers, onLog: (line) => lines.push(line) })
  t.teardown(() => node.stop())
  const { wide, ...others } = await models(await node.signIn())
  t.strictSame(others, {
    acme: ['large', 'small'],
    none: [],
    throws: [],
    rejects: [],
    nothing: [],
    odd: [],
    mixed: [],
    plain: ['at once'],
    long: ['x'.repeat(512)],
  })
  t.equal(wide?.length, 10_000)
  t.match(
    node.plugins().find(({ id }) => id === 'ai'),
    { state: 'active' },
  )
  const complaints = lines.filter((line) => line.includes('does not list its models'))
  t.equal(complaints.length, 5, 'The log has the failure of each provider.')
})

t.test('The owner is told whether each provider works', async (t) => {
  const secret = 'sk-secret'
  let isDown = true
  const providers = {
    acme: listing(async () => ['large', 'small']),
    keyless: listing(async () => []),
    down: listing(async () => {
      if (!isDown) return ['again']
      const message = 'The AI provider "down" cannot be reached. Start its server.'
      throw new NodekeepError('UPSTREAM_ERROR', message, { cause: new Error(secret) })
    }),
    faulty: listing(() => {
      throw new Error(secret)
    }),
    silent: listing(() => never),
  }
  const ai = { models: { waitMs: 20, timeoutMs: 60_000, keepSeconds: 0.02 } }
  const node = await createAiNode({ providers, ai })
  t.teardown(() => node.stop())
  const [owner, ada] = [await node.signIn('owner'), await node.signIn()]
  const states = async () => {
    const answer = await owner.fetch('/api/ai/providers')
    t.equal(answer.status, 200)
    return ((await answer.json()) as { providers: { name: string; state: string }[] }).providers
  }
  const waiting = async () => (await states()).filter(({ state }) => state === 'waiting').length
  while ((await waiting()) > 1) await delay(5)
  t.strictSame(await states(), [
    { name: 'acme', state: 'works', models: 2, problem: null },
    { name: 'keyless', state: 'empty', models: 0, problem: null },
    {
      name: 'down',
      state: 'failed',
      models: 0,
      problem: 'The AI provider "down" cannot be reached. Start its server.',
    },
    {
      name: 'faulty',
      state: 'failed',
      models: 0,
      problem: 'The AI provider "faulty" failed. Try again later.',
    },
    { name: 'silent', state: 'waiting', models: 0, problem: null },
  ])
  t.equal((await ada.fetch('/api/ai/providers')).status, 403)
  isDown = false
  const ofDown = async () => (await states()).find(({ name }) => name === 'down')
  while ((await ofDown())?.state !== 'works') await delay(5)
  t.strictSame(await ofDown(), { name: 'down', state: 'works', models: 1, problem: null })
})

t.test('People are told to which host messages go, as far as a provider tells it', async (t) => {
  const list = listing(async () => [])
  const odd = { ...list, host: 7 } as unknown as AiProvider
  const node = await createAiNode({ providers: { acme: { ...list, host: 'api.acme.example' }, list, odd } })
  t.teardown(() => node.stop())
  const answer = await (await node.signIn()).fetch('/api/ai/hosts')
  t.strictSame(await answer.json(), { hosts: { acme: 'api.acme.example' } })
})

t.test('A provider that does not answer does not delay the list', async (t) => {
  const silent = listing(() => never)
  const providers = { silent, acme: listing(async () => ['large']) }
  const node = await createAiNode({ providers, ai: { models: { waitMs: 60, timeoutMs: 60_000 } } })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const expected = { silent: [], acme: ['large'] }
  const began = performance.now()
  t.strictSame(await models(ada), expected)
  t.ok(performance.now() - began >= 55, 'The first request waits a short time for the list.')
  const others = await Promise.all(Array.from({ length: 20 }, () => models(ada)))
  t.strictSame(others, Array(20).fill(expected))
  t.equal(silent.asked, 1, 'The node sends one request at a time.')
})

t.test('A request without an answer is aborted, and a later one is sent', async (t) => {
  const signals: AbortSignal[] = []
  const silent = listing((signal, turn) => {
    signals.push(signal)
    return turn < 2 ? never : ['at last']
  })
  const ai = { models: { waitMs: 1, timeoutMs: 20, keepSeconds: 0.02 } }
  const node = await createAiNode({ providers: { silent }, ai })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  while ((await models(ada)).silent?.[0] !== 'at last') await delay(5)
  t.strictSame(
    signals.slice(0, 2).map(({ aborted }) => aborted),
    [true, true],
  )
})

t.test('A list is cached, and renewed while the old one is returned', async (t) => {
  const renewed = Promise.withResolvers<string[]>()
  const acme = listing(async (_signal, turn) => {
    if (turn === 0) return ['old']
    if (turn === 1) return renewed.promise
    throw new Error('down')
  })
  const node = await createAiNode({ providers: { acme }, ai: { models: { keepSeconds: 0.2 } } })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  t.strictSame(await models(ada), { acme: ['old'] })
  t.strictSame(await models(ada), { acme: ['old'] })
  t.equal(acme.asked, 1)
  while (acme.asked < 2) t.strictSame(await models(ada), { acme: ['old'] })
  for (let n = 0; n < 5; n += 1)
    t.strictSame(await models(ada), { acme: ['old'] }, 'No client waits for the new list.')
  renewed.resolve(['new'])
  while ((await models(ada)).acme?.[0] !== 'new') t.equal(acme.asked, 2)
  while (acme.asked < 3) await models(ada)
  t.strictSame(await models(ada), { acme: [] }, 'A provider that fails has no models.')
})

t.test('The error of an unknown model lists the known ones, even after the list failed', async (t) => {
  const acme = listing(async (_signal, turn) => {
    if (turn === 0) throw new Error('down')
    return ['large']
  })
  acme.chat = () => {
    throw new NodekeepError('NOT_FOUND', 'Unknown.')
  }
  const node = await createAiNode({ providers: { acme } })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  t.strictSame(await models(ada), { acme: [] })
  for (let n = 0; n < 2; n += 1) {
    t.match(await (await chat(ada, { model: 'huge' })).json(), {
      code: 'NOT_FOUND',
      message: 'The AI provider "acme" does not have the model "huge". It has: large.',
    })
  }
  t.equal(acme.asked, 2, 'A list that arrived is cached.')
})

t.test('The removal of a provider removes its list and ends its requests', async (t) => {
  const signals: AbortSignal[] = []
  const acme = listing((signal) => {
    signals.push(signal)
    return never
  })
  const config = { plugins: { scripted: { required: false } } }
  const node = await createAiNode({ providers: { acme }, config, ai: { models: { waitMs: 60_000 } } })
  t.teardown(() => node.stop())
  const [ada, owner] = [await node.signIn(), await node.signIn('owner')]
  const turn = (action: string) => owner.fetch(`/api/system/plugins/scripted/${action}`, { method: 'POST' })
  const waiting = models(ada)
  while (signals.length === 0) await ada.fetch('/whoami')
  await turn('disable')
  t.ok(signals[0]?.aborted)
  t.strictSame(await waiting, { acme: [] }, 'The waiting client gets an answer.')
  t.strictSame(await models(ada), {})
  await turn('enable')
  const again = models(ada)
  while (signals.length === 1) await ada.fetch('/whoami')
  await node.stop()
  t.ok(signals[1]?.aborted, 'The stop of the node ends the request too.')
  await again.catch(() => {})
})
