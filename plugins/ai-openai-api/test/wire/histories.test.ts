import type { ChatDelta } from '@nodekeep/plugin-sdk'
import type OpenAI from 'openai'
import { test } from 'tap'
import { clientOf, createApiNode, finish, refusal, replying, text } from '../fixtures/openai-api-node.ts'

const question: OpenAI.ChatCompletionMessageParam = { role: 'user', content: 'What is the weather?' }

test('A client can append a reply unchanged and continue the chat', async (t) => {
  const pieces: ChatDelta[] = [
    { type: 'tool_call', index: 0, id: 'call_1', name: 'weather', arguments: '{"city":"Lima"}' },
    finish('tool_calls'),
  ]
  const calling = replying(pieces)
  const saying = replying([text('Fog.'), finish()])
  const silent = replying([finish()])
  const node = await createApiNode({ calling, saying, silent })
  t.teardown(() => node.stop())
  const { completions } = clientOf(node, await node.signIn()).chat
  const messages: OpenAI.ChatCompletionMessageParam[] = [question]
  const first = await completions.create({ model: 'calling/large', messages })
  if (first.choices[0] !== undefined) messages.push(first.choices[0].message)
  messages.push({ role: 'tool', tool_call_id: 'call_1', content: 'fog' })
  const second = await completions.create({ model: 'saying/large', messages })
  if (second.choices[0] !== undefined) messages.push(second.choices[0].message)
  const third = await completions.stream({ model: 'silent/large', messages }).finalChatCompletion()
  if (third.choices[0] !== undefined) messages.push(third.choices[0].message)
  await completions.create({ model: 'saying/large', messages: [...messages, question] })
  t.strictSame(saying.asked.at(-1)?.messages, [
    question,
    {
      role: 'assistant',
      content: '',
      toolCalls: [{ id: 'call_1', name: 'weather', arguments: '{"city":"Lima"}' }],
    },
    { role: 'tool', toolCallId: 'call_1', content: 'fog' },
    { role: 'assistant', content: 'Fog.' },
    { role: 'assistant', content: '' },
    question,
  ])
})

test('Replies of other servers are accepted with all fields beside their text', async (t) => {
  const provider = replying([text('Hi'), finish()])
  const node = await createApiNode({ acme: provider })
  t.teardown(() => node.stop())
  const { completions } = clientOf(node, await node.signIn()).chat
  // The form of OpenAI's answers.
  const beside = { refusal: null, annotations: [], audio: null, function_call: null, tool_calls: [] }
  const said: OpenAI.ChatCompletionMessageParam[] = [
    { role: 'assistant', content: 'Rain.', name: 'forecaster', ...beside },
    { role: 'assistant', content: null, ...beside },
    { role: 'assistant', ...beside, content: null, refusal: 'I cannot say.' },
    { role: 'assistant', refusal: "I won't say." },
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'Well.' },
        { type: 'refusal', refusal: 'No.' },
      ],
    },
    { role: 'assistant', content: [{ type: 'refusal', refusal: 'Never.' }] },
  ]
  await completions.create({ model: 'acme/large', messages: [...said, question] })
  t.strictSame(
    provider.asked[0]?.messages.slice(0, -1),
    ['Rain.', '', 'I cannot say.', "I won't say.", 'Well.\nNo.', 'Never.'].map((content) => ({
      role: 'assistant',
      content,
    })),
  )
})

test('A history with content that would be lost is refused', async (t) => {
  const provider = replying([text('Hi'), finish()])
  const node = await createApiNode({ acme: provider })
  t.teardown(() => node.stop())
  const { completions } = clientOf(node, await node.signIn()).chat
  const part = { type: 'refusal', refusal: 'No.' } as const
  for (const [message, names] of [
    [{ role: 'assistant' }, /"messages\.0".*"content"/],
    [{ role: 'assistant', audio: { id: 'audio_1' } }, /"messages\.0".*"audio"/],
    [{ role: 'assistant', function_call: { name: 'look', arguments: '{}' } }, /"messages\.0".*"tool_calls"/],
    [{ role: 'assistant', content: [{ type: 'refusal' }] }, /"messages\.0"/],
    [{ role: 'user', content: [part] }, /"messages\.0"/],
    [{ role: 'system', content: [part] }, /"messages\.0"/],
    [{ role: 'tool', tool_call_id: 'a', content: [part] }, /"messages\.0"/],
  ] as const) {
    const messages = [message, question] as unknown as OpenAI.ChatCompletionMessageParam[]
    const error = await refusal(completions.create({ model: 'acme/large', messages }))
    t.match(error, { status: 400, code: 'VALIDATION_ERROR', message: names }, JSON.stringify(message))
  }
  t.equal(provider.asked.length, 0)
})
