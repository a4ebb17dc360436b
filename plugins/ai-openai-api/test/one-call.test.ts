import type { ChatDelta } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { clientOf, createApiNode, finish, replying, text, usage } from './fixtures/openai-api-node.ts'

const ask = {
  model: 'acme/large',
  messages: [{ role: 'user' as const, content: 'Hello' }],
  tools: [{ type: 'function' as const, function: { name: 'look', parameters: { type: 'object' } } }],
}

test('Without parallel calls a reply has one call, even if the server makes several', async (t) => {
  // The pieces of calls may be mixed, and the first index may be greater than 0.
  const pieces: ChatDelta[] = [
    text('Let me look.'),
    { type: 'tool_call', index: 1, id: 'call_b', name: 'look', arguments: '{"at":' },
    { type: 'tool_call', index: 0, id: 'call_a', name: 'look', arguments: '{}' },
    { type: 'tool_call', index: 1, arguments: '"map"}' },
    usage,
    finish('tool_calls'),
  ]
  const node = await createApiNode({ acme: replying(pieces) })
  t.teardown(() => node.stop())
  const { completions } = clientOf(node, await node.signIn()).chat
  const callsWith = async (parallel_tool_calls?: boolean) => {
    const options = parallel_tool_calls === undefined ? ask : { ...ask, parallel_tool_calls }
    const whole = await completions.create(options)
    const streamed = await completions.stream(options).finalChatCompletion()
    return [whole, streamed].map(({ choices: [choice] }) => {
      t.equal(choice?.message.content, 'Let me look.')
      t.equal(choice?.finish_reason, 'tool_calls')
      return choice?.message.tool_calls?.map(({ id }) => id)
    })
  }
  t.strictSame(await callsWith(false), [['call_b'], ['call_b']])
  t.strictSame(await callsWith(true), [
    ['call_a', 'call_b'],
    ['call_a', 'call_b'],
  ])
  t.strictSame(await callsWith(), [
    ['call_a', 'call_b'],
    ['call_a', 'call_b'],
  ])
})
