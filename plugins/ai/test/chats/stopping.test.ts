import type { TestNode, TestUser } from '@nodekeep/kernel/testing'
import { AiProviders, definePlugin } from '@nodekeep/plugin-sdk'
import t, { type Test } from 'tap'
import { type AiNodeOptions, chat, createAiNode, usageOf } from '../fixtures/ai-node.ts'
import { captureChats } from '../fixtures/captured-chats.ts'
import { readEvents } from '../fixtures/events.ts'
import { type ScriptedProvider, scripted, stop, text } from '../fixtures/scripted-provider.ts'

const never = new Promise<never>(() => {})

interface Stand {
  readonly node: TestNode
  readonly ada: TestUser
  readonly owner: TestUser
  readonly providers: Readonly<Record<'silent' | 'stalled', ScriptedProvider>>
  /** A chat that has not begun to be answered, one that is being streamed, and one that is to be whole. */
  readonly answers: readonly Promise<Response>[]
}

/** A node with three chats of one user, whose providers never listen to their signals. */
async function stand(t: Test, options: AiNodeOptions = {}): Promise<Stand> {
  const providers = {
    silent: scripted(async function* () {
      await never
      yield stop
    }),
    stalled: scripted(async function* () {
      yield text('so far')
      await never
    }),
  }
  const config = { plugins: { scripted: { required: false }, ai: { required: false } } }
  const node = await createAiNode({ providers, config, ...options })
  t.teardown(() => node.stop())
  const [ada, owner] = [await node.signIn(), await node.signIn('owner')]
  const answers = [
    chat(ada, { provider: 'silent', stream: true }),
    chat(ada, { provider: 'stalled', stream: true }),
    chat(ada, { provider: 'stalled' }),
  ]
  await answers[1]
  while (
    providers.silent.calls.length < 1 ||
    providers.stalled.last.asked < 2 ||
    providers.stalled.calls.length < 2
  )
    await ada.fetch('/api/ai/usage')
  return { node, ada, owner, providers, answers }
}

/** All three chats ended with one error, and so did their calls. */
async function ended(t: Test, { answers, providers }: Stand, status: number, code: string, message: RegExp) {
  const [waiting, streamed, whole] = await Promise.all(answers)
  for (const answer of [waiting, whole]) {
    t.equal(answer?.status, status)
    t.match(await answer?.json(), { error: true, code, message })
  }
  t.match(readEvents((await streamed?.text()) ?? ''), { text: 'so far', error: { code, message } })
  for (const { signal, returned } of [...providers.silent.calls, ...providers.stalled.calls]) {
    t.ok(signal.aborted)
    t.ok(returned)
  }
}

t.test('when the node stops, chats end with an error, and nothing hangs', async (t) => {
  const lines: string[] = []
  const chats = await stand(t, { onLog: (line) => lines.push(line) })
  const began = performance.now()
  const stopped = chats.node.stop()
  await ended(t, chats, 503, 'SERVICE_UNAVAILABLE', /^The node is stopping/)
  await stopped
  t.ok(performance.now() - began < 5000, 'long before the limit for running requests')
  const complaints = lines.filter((line) => JSON.parse(line).level >= 40)
  t.strictSame(complaints, [], 'and nothing went wrong')
})

t.test("when the provider's plugin is switched off, so do its chats", async (t) => {
  const chats = await stand(t)
  const { owner, ada } = chats
  const off = owner.fetch('/api/system/plugins/scripted/disable', { method: 'POST' })
  await ended(t, chats, 503, 'SERVICE_UNAVAILABLE', /^The AI provider "(silent|stalled)" was stopped/)
  t.equal((await off).status, 200)
  t.strictSame(await (await ada.fetch('/api/ai/models')).json(), { providers: {} })
  t.equal((await chat(ada, { provider: 'stalled' })).status, 404)
  t.strictSame(
    (await usageOf(ada)).map(({ requests, failed, inputTokens }) => [requests, failed, inputTokens]),
    [
      [1, 1, 2],
      [2, 2, 4],
    ],
  )
  await owner.fetch('/api/system/plugins/scripted/enable', { method: 'POST' })
  t.strictSame(await (await ada.fetch('/api/ai/models')).json(), {
    providers: { silent: ['large', 'small'], stalled: ['large', 'small'] },
  })
})

t.test('a provider that goes away before it is asked is not asked', async (t) => {
  const late = scripted(() => [text('too late'), stop])
  const going = Promise.withResolvers<() => void>()
  const plugin = definePlugin({
    id: 'going',
    contributes: { ai: AiProviders },
    setup: ({ ai }) => going.resolve(ai.add('late', late)),
  })
  const captured = captureChats()
  const node = await createAiNode({ plugins: [captured.plugin, plugin] })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const query = { provider: 'late', model: 'large', messages: [{ role: 'user', content: 'Hello' }] } as const
  const goAway = await going.promise
  const begins = captured.chats.start(ada.user.uuid, query, new AbortController().signal)
  goAway()
  await t.rejects(begins, { code: 'SERVICE_UNAVAILABLE', message: /^The AI provider "late" was stopped/ })
  t.equal(late.calls.length, 0)
  t.match(await usageOf(ada), [{ requests: 1, failed: 1, inputTokens: 0, estimated: 0 }])
})

t.test('when the feature itself is switched off, so do all', async (t) => {
  const chats = await stand(t)
  const { owner, ada } = chats
  const off = owner.fetch('/api/system/plugins/ai/disable', { method: 'POST' })
  await ended(t, chats, 503, 'SERVICE_UNAVAILABLE', /^The node is stopping/)
  t.equal((await off).status, 200)
  t.equal((await chat(ada)).status, 404)
  await owner.fetch('/api/system/plugins/ai/enable', { method: 'POST' })
  t.match(await usageOf(ada), [{ requests: 1 }, { requests: 2 }], 'what they used was kept')
})

t.test("when a session of the user ends, so do their chats, and nobody else's", async (t) => {
  const chats = await stand(t)
  const { node, ada, providers } = chats
  const bob = await node.signIn()
  const theirs = await chat(bob, { provider: 'stalled', stream: true })
  const bobsCall = providers.stalled.last
  const { sessions } = (await (await ada.fetch('/api/account/sessions')).json()) as {
    sessions: { id: string }[]
  }
  await ada.fetch(`/api/account/sessions/${sessions[0]?.id}`, { method: 'DELETE' })
  const own = { ...providers.stalled, calls: providers.stalled.calls.filter((call) => call !== bobsCall) }
  await ended(
    t,
    { ...chats, providers: { ...providers, stalled: own } },
    401,
    'UNAUTHORIZED',
    /Sign in again/,
  )
  t.notOk(bobsCall.signal.aborted)
  await theirs.body?.cancel()
})
