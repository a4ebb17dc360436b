import type { ChatDelta, ChatMessage, ChatReply } from '@nodekeep/plugin-sdk'
import t from 'tap'
import { createAiNode, usageOf } from '../fixtures/ai-node.ts'
import { captureChats } from '../fixtures/captured-chats.ts'
import { scripted, stop, text, untilAborted, usage } from '../fixtures/scripted-provider.ts'

const hello: ChatMessage = { role: 'user', content: 'Hello' }
const { signal } = new AbortController()

async function gathered({ deltas }: ChatReply): Promise<ChatDelta[]> {
  const all: ChatDelta[] = []
  for await (const delta of deltas) all.push(delta)
  return all
}

t.test('The same rules apply to the chats of another plugin', async (t) => {
  const call = { type: 'tool_call', index: 0, id: 'c1', name: 'weather' } as const
  const more = { type: 'tool_call', index: 0, arguments: '{"in":"Bern"}' } as const
  const able = scripted(
    () => [usage(5, 0), call, more, usage(5, 3), text('so'), { ...stop, reason: 'tool_calls' }],
    { supports: { tools: true, images: true, json: true } },
  )
  const plain = scripted(() => [text('ok'), stop])
  const captured = captureChats()
  const ai = { limits: { chatsPerUser: 1 } }
  const node = await createAiNode({ providers: { able, plain }, ai, plugins: [captured.plugin] })
  t.teardown(() => node.stop())
  const { user, fetch } = await node.signIn()
  const start = (query: object) =>
    captured.chats.start(user.uuid, { provider: 'able', model: 'large', messages: [hello], ...query }, signal)

  const image = { type: 'image', url: 'data:image/png;base64,AAAA' } as const
  const full = {
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'Look' }, image] },
      { role: 'assistant', content: '', toolCalls: [{ id: 'c0', name: 'weather', arguments: '{}' }] },
      { role: 'tool', toolCallId: 'c0', content: 'sunny' },
    ] satisfies ChatMessage[],
    topP: 0.5,
    tools: [{ name: 'weather', parameters: {} }],
    toolChoice: 'auto',
    json: { schema: {} },
  }
  const reply = await start(full)
  t.match(reply, { provider: 'able', model: 'large' })
  t.strictSame(await gathered(reply), [
    call,
    more,
    text('so'),
    usage(5, 3),
    { ...stop, reason: 'tool_calls' },
  ])
  t.strictSame(able.last.request, { model: 'large', ...full })

  const refused: [query: object, message: RegExp][] = [
    [{ messages: [{ role: 'user', content: [image] }] }, /does not support images/],
    [{ tools: full.tools }, /does not support tools/],
    [{ toolChoice: 'none' }, /does not support tools/],
    [{ messages: [full.messages[1]] }, /does not support tools/],
    [{ messages: [full.messages[2]] }, /does not support tools/],
    [{ json: {} }, /does not support replies in JSON/],
  ]
  for (const [query, message] of refused) {
    await t.rejects(start({ provider: 'plain', ...query }), { code: 'VALIDATION_ERROR', message })
  }
  for (const url of [
    'http://10.0.0.1/x.png',
    'file:///etc/passwd',
    '//host/x',
    'HTTPS://host',
    ' data:x',
    '',
  ]) {
    const messages = [{ role: 'user', content: [{ type: 'image', url }] }]
    await t.rejects(start({ messages }), { code: 'VALIDATION_ERROR', message: /"data:" URLs/ }, url)
  }
  t.equal(plain.calls.length, 0)
  await t.rejects(start({ provider: 'none' }), { code: 'NOT_FOUND' })
  t.strictSame(await captured.chats.models(), { able: ['large', 'small'], plain: ['large', 'small'] })
  t.strictSame(await (await fetch('/api/ai/models')).json(), { providers: await captured.chats.models() })
})

t.test('A reply that its reader leaves or aborts ends and is counted', async (t) => {
  const acme = scripted(async function* (_request, signal) {
    yield text('four')
    yield text('more')
    await untilAborted(signal)
  })
  const captured = captureChats()
  const ai = { limits: { chatsPerUser: 1 } }
  const node = await createAiNode({ providers: { acme }, ai, plugins: [captured.plugin] })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const query = { provider: 'acme', model: 'large', messages: [hello] }
  const start = (signal: AbortSignal) => captured.chats.start(ada.user.uuid, query, signal)

  const left = await start(signal)
  for await (const delta of left.deltas) {
    t.same(delta, text('four'))
    break
  }
  t.ok(acme.last.signal.aborted)
  t.ok(acme.last.returned)
  t.equal(acme.last.asked, 1, 'The node took no more pieces than requested.')

  const abort = new AbortController()
  const aborted = await start(abort.signal)
  const reading = gathered(aborted)
  const reason = new Error('enough')
  abort.abort(reason)
  await t.rejects(reading, reason)
  t.ok(acme.last.signal.aborted)
  t.strictSame(await gathered(aborted), [], 'An ended reply has no more pieces.')

  const unread = new AbortController()
  const reply = await start(unread.signal)
  unread.abort(reason)
  await t.rejects(gathered(reply), reason, 'The call ends also if the reader has read nothing.')

  await t.rejects(start(AbortSignal.abort(reason)), reason)
  t.equal(acme.calls.length, 3)
  t.match(await usageOf(ada), [{ requests: 3, aborted: 3, failed: 0, inputTokens: 6, outputTokens: 3 }])
})
