import type OpenAI from 'openai'
import { test } from 'tap'
import { clientOf, createApiNode, finish, refusal, replying, text } from '../fixtures/openai-api-node.ts'

const messages = [{ role: 'user' as const, content: 'Hello' }]
const ask = { model: 'acme/large', messages }
const tools: OpenAI.ChatCompletionTool[] = [{ type: 'function', function: { name: 'look' } }]
const named = (name: string) => ({ type: 'function' as const, function: { name } })

test('A choice with its tools arrives', async (t) => {
  const provider = replying([text('Hi'), finish()])
  const node = await createApiNode({ acme: provider })
  t.teardown(() => node.stop())
  const { completions } = clientOf(node, await node.signIn()).chat
  for (const tool_choice of ['none', 'auto', 'required', named('look')] as const) {
    await completions.create({ ...ask, tools, tool_choice })
  }
  t.strictSame(
    provider.asked.map(({ toolChoice }) => toolChoice),
    ['none', 'auto', 'required', { name: 'look' }],
  )
})

test('A choice without tools that has no effect is left unread, also for a provider without tools', async (t) => {
  const provider = replying([text('Hi'), finish()], { supports: {} })
  const node = await createApiNode({ acme: provider })
  t.teardown(() => node.stop())
  const { completions } = clientOf(node, await node.signIn()).chat
  for (const tool_choice of ['none', 'auto'] as const) {
    await completions.create({ ...ask, tool_choice, parallel_tool_calls: true })
    await completions.create({ ...ask, tool_choice, tools: [], parallel_tool_calls: true })
  }
  t.strictSame(provider.asked, Array(4).fill({ model: 'large', messages }))
})

test('A choice of a missing tool is refused', async (t) => {
  const provider = replying([text('Hi'), finish()])
  const node = await createApiNode({ acme: provider })
  t.teardown(() => node.stop())
  const { completions } = clientOf(node, await node.signIn()).chat
  for (const [more, message] of [
    [{ tool_choice: 'required' }, /"tool_choice" is "required", but there are no "tools"/],
    [{ tool_choice: 'required', tools: [] }, /"tool_choice" is "required"/],
    [{ tool_choice: named('look') }, /"tool_choice" names "look", which is none of the "tools"/],
    [{ tool_choice: named('look'), tools: [] }, /"tool_choice" names "look"/],
    [{ tool_choice: named('listen'), tools }, /"tool_choice" names "listen"/],
  ] as const) {
    const request = { ...ask, ...more } as OpenAI.ChatCompletionCreateParamsNonStreaming
    const error = await refusal(completions.create(request))
    t.match(error, { status: 400, code: 'VALIDATION_ERROR', message }, JSON.stringify(more))
  }
  t.equal(provider.asked.length, 0)
})
