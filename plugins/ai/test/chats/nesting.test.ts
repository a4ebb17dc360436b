import type { ChatMessage } from '@nodekeep/plugin-sdk'
import t from 'tap'
import { createAiNode, usageOf } from '../fixtures/ai-node.ts'
import { captureChats } from '../fixtures/captured-chats.ts'
import { scripted, stop, text } from '../fixtures/scripted-provider.ts'

const hello: ChatMessage = { role: 'user', content: 'Hello' }
const mostLevels = 100

/** Returns nested objects of a number of levels, with other values beside them. */
function nested(levels: number): Record<string, unknown> {
  let value: Record<string, unknown> = { wide: [] }
  for (let level = 2; level < levels; level += 1) value = { a: value, b: 1, c: null, d: '[[[[' }
  return value
}

t.test('Schemas and arguments of other plugins have the same limit of depth', async (t) => {
  const acme = scripted(() => [text('ok'), stop], { supports: { tools: true, json: true } })
  const captured = captureChats()
  const node = await createAiNode({ providers: { acme }, plugins: [captured.plugin] })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const { signal } = new AbortController()
  const chat = async (query: object) => {
    const whole = { provider: 'acme', model: 'large', messages: [hello], ...query }
    const { deltas } = await captured.chats.start(ada.user.uuid, whole, signal)
    for await (const delta of deltas) if (delta.type === 'finish') return delta.reason
    return null
  }
  const queries: readonly ((levels: number) => object)[] = [
    (levels) => ({
      tools: [
        { name: 'flat', parameters: {} },
        { name: 'a', parameters: nested(levels) },
      ],
    }),
    (levels) => ({ json: { schema: nested(levels) } }),
    (levels) => ({
      messages: [
        { role: 'assistant', content: '', toolCalls: [callWith(JSON.stringify(nested(levels)))] },
        hello,
      ],
    }),
  ]
  for (const query of queries) {
    t.equal(await chat(query(mostLevels)), 'stop')
    const refused = { code: 'VALIDATION_ERROR', message: /more than 100 levels/ }
    await t.rejects(chat(query(mostLevels + 1)), refused)
  }
  t.equal(acme.calls.length, queries.length)
  t.match(await usageOf(ada), [{ requests: queries.length, failed: 0 }], 'Refused chats are not counted.')
})

t.test('Brackets in texts are no levels, and arguments may be invalid JSON', async (t) => {
  const acme = scripted(() => [text('ok'), stop], { supports: { tools: true } })
  const captured = captureChats()
  const node = await createAiNode({ providers: { acme }, plugins: [captured.plugin] })
  t.teardown(() => node.stop())
  const { user } = await node.signIn()
  const { signal } = new AbortController()
  const brackets = '[{'.repeat(mostLevels)
  for (const written of [
    JSON.stringify({ a: brackets, b: `"${brackets}\\`, c: { d: brackets } }),
    '[]'.repeat(1000),
    ']'.repeat(1000),
    `"${brackets}`,
    '\\',
    '',
  ]) {
    const messages: ChatMessage[] = [
      { role: 'assistant', content: '', toolCalls: [callWith(written)] },
      hello,
    ]
    const { deltas } = await captured.chats.start(
      user.uuid,
      { provider: 'acme', model: 'large', messages },
      signal,
    )
    for await (const _ of deltas);
    t.strictSame(acme.last.request.messages, messages)
  }
})

function callWith(text: string) {
  return { id: 'a', name: 'a', arguments: text }
}
