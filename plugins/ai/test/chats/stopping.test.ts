import type { TestNode, TestUser } from '@nodekeep/kernel/testing'
import { AiProviders, definePlugin } from '@nodekeep/plugin-sdk'
import t, { type Test } from 'tap'
import { type AiNodeOptions, chat, createAiNode, usageOf } from '../fixtures/ai-node.ts'
import { captureChats } from '../fixtures/captured-chats.ts'
import { readEvents } from '../fixtures/events.ts'
import { type ScriptedProvider, scripted, stop, text } from '../fixtures/scripted-provider.ts'

const never = new Promise<never>(() => {})

interface RunningChats {
  readonly node: TestNode
  readonly ada: TestUser
  readonly owner: TestUser
  readonly providers: Readonly<Record<'silent' | 'stalled', ScriptedProvider>>
  /** Three answers: one that has not begun, one that is streaming, and one that is sent whole. */
  readonly answers: readonly Promise<Response>[]
}

/** Starts a node and three chats of one user. The providers ignore their signals. */
async function startChats(t: Test, options: AiNodeOptions = {}): Promise<RunningChats> {
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

/** Asserts that all three chats and their calls ended with an error. */
async function assertEnded(
  t: Test,
  { answers, providers }: RunningChats,
  status: number,
  code: string,
  message: RegExp,
) {
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

t.test('The node ends all chats with an error when it stops', async (t) => {
  const lines: string[] = []
  const chats = await startChats(t, { onLog: (line) => lines.push(line) })
  const began = performance.now()
  const stopped = chats.node.stop()
  await assertEnded(t, chats, 503, 'SERVICE_UNAVAILABLE', /^The node is stopping/)
  await stopped
  t.ok(performance.now() - began < 5000, 'The node stops long before the time limit of running requests.')
  const complaints = lines.filter((line) => JSON.parse(line).level >= 40)
  t.strictSame(complaints, [], 'The log has no warnings.')
})

t.test('Chats end when the plugin of their provider is disabled', async (t) => {
  const chats = await startChats(t)
  const { owner, ada } = chats
  const disabled = owner.fetch('/api/system/plugins/scripted/disable', { method: 'POST' })
  await assertEnded(t, chats, 503, 'SERVICE_UNAVAILABLE', /^The AI provider "(silent|stalled)" was stopped/)
  t.equal((await disabled).status, 200)
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

t.test('A provider that is removed before its call is not called', async (t) => {
  const late = scripted(() => [text('too late'), stop])
  const added = Promise.withResolvers<() => void>()
  const plugin = definePlugin({
    id: 'going',
    contributes: { ai: AiProviders },
    setup: ({ ai }) => added.resolve(ai.add('late', late)),
  })
  const captured = captureChats()
  const node = await createAiNode({ plugins: [captured.plugin, plugin] })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const query = { provider: 'late', model: 'large', messages: [{ role: 'user', content: 'Hello' }] } as const
  const remove = await added.promise
  const begins = captured.chats.start(ada.user.uuid, query, new AbortController().signal)
  remove()
  await t.rejects(begins, { code: 'SERVICE_UNAVAILABLE', message: /^The AI provider "late" was stopped/ })
  t.equal(late.calls.length, 0)
  t.match(await usageOf(ada), [{ requests: 1, failed: 1, inputTokens: 0, estimated: 0 }])
})

t.test('All chats end when the feature is disabled', async (t) => {
  const chats = await startChats(t)
  const { owner, ada } = chats
  const disabled = owner.fetch('/api/system/plugins/ai/disable', { method: 'POST' })
  await assertEnded(t, chats, 503, 'SERVICE_UNAVAILABLE', /^The node is stopping/)
  t.equal((await disabled).status, 200)
  t.equal((await chat(ada)).status, 404)
  await owner.fetch('/api/system/plugins/ai/enable', { method: 'POST' })
  t.match(await usageOf(ada), [{ requests: 1 }, { requests: 2 }], 'Their usage is stored.')
})

t.test('The end of a session ends the chats of its user only', async (t) => {
  const chats = await startChats(t)
  const { node, ada, providers } = chats
  const bob = await node.signIn()
  const bobsAnswer = await chat(bob, { provider: 'stalled', stream: true })
  const bobsCall = providers.stalled.last
  const { sessions } = (await (await ada.fetch('/api/account/sessions')).json()) as {
    sessions: { id: string }[]
  }
  await ada.fetch(`/api/account/sessions/${sessions[0]?.id}`, { method: 'DELETE' })
  const own = { ...providers.stalled, calls: providers.stalled.calls.filter((call) => call !== bobsCall) }
  await assertEnded(
    t,
    { ...chats, providers: { ...providers, stalled: own } },
    401,
    'UNAUTHORIZED',
    /Sign in again/,
  )
  t.notOk(bobsCall.signal.aborted)
  await bobsAnswer.body?.cancel()
})
