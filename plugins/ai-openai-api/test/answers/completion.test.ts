import type { ChatDelta } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { clientOf, createApiNode, finish, replying, text } from '../fixtures/openai-api-node.ts'

test('A reply in single letters is joined unchanged', async (t) => {
  const said = 'Nodekeep ✓ 日本語\n'.repeat(1000)
  const written = JSON.stringify({ a: 'x'.repeat(5000) })
  const pieces: ChatDelta[] = [
    { type: 'tool_call', index: 0, id: 'call_a', name: 'look' },
    { type: 'tool_call', index: 2, id: 'call_c', name: 'clock' },
    ...[...said].map(text),
    ...[...written].flatMap((letter): ChatDelta[] => [
      { type: 'tool_call', index: 2, arguments: letter },
      { type: 'tool_call', index: 0, arguments: letter },
    ]),
    finish('tool_calls'),
  ]
  const node = await createApiNode({ acme: replying(pieces) })
  t.teardown(() => node.stop())
  const { completions } = clientOf(node, await node.signIn()).chat
  const messages = [{ role: 'user' as const, content: 'Hello' }]
  const { choices } = await completions.create({ model: 'acme/large', messages })
  t.ok(choices[0]?.message.content === said)
  t.strictSame(choices[0]?.message.tool_calls, [
    { id: 'call_a', type: 'function', function: { name: 'look', arguments: written } },
    { id: 'call_c', type: 'function', function: { name: 'clock', arguments: written } },
  ])
})
