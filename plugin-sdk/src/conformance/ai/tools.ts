import assert from 'node:assert/strict'
import type { ChatDelta, ChatMessage, ChatTool, ChatToolCall } from '../../contracts/ai.ts'
import { hearAll, question, reply, textOf } from './chatting.ts'
import { assertMessages } from './messages.ts'
import { type AiCheck, lacking, lacks } from './subject.ts'

const tools: ChatTool[] = [
  {
    name: 'weather',
    description: 'The weather of a city.',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
  { name: 'clock', parameters: { type: 'object', properties: {} } },
]

const calls: ChatToolCall[] = [
  { id: 'call_a1', name: 'weather', arguments: '{"city":"São Paulo \\"SP\\" 🌧"}' },
  { id: 'call_b2', name: 'weather', arguments: '{"city":"Lima"}' },
  { id: 'call_c3', name: 'clock', arguments: '{}' },
]

export function toolChecks(register: AiCheck): void {
  const check: AiCheck = (name, run) =>
    register(name, async (subject, skip) => {
      if (!subject.provider.supports?.tools) return skip('The provider does not support tools.')
      await run(subject, skip)
    })

  check('calls of tools come with their names and arguments', async (subject) => {
    for (const byteByByte of [false, true]) {
      for (const text of [[], ['Let me', ' look.']]) {
        subject.server.play(reply(text, { toolCalls: calls, finish: 'tool_calls', byteByByte }))
        const deltas = await hearAll(subject, question(subject, { tools }))
        assert.equal(textOf(deltas), text.join(''))
        assertCalls(deltas, calls)
        assert.deepEqual(deltas.at(-1), { type: 'finish', reason: 'tool_calls' })
      }
    }
  })

  check('tools arrive with their descriptions and schemas', async (subject) => {
    await hearAll(subject, question(subject, { tools, toolChoice: 'auto' }))
    const received = subject.server.received()
    assert.deepEqual(received?.tools, tools)
    if (received?.toolChoice !== undefined) assert.equal(received.toolChoice, 'auto', 'it is the default')
  })

  check('the tool choice arrives', async (subject, skip) => {
    if (lacks(subject, 'toolChoice')) return skip(lacking('toolChoice'))
    for (const toolChoice of ['none', 'required', { name: 'clock' }] as const) {
      await hearAll(subject, question(subject, { tools, toolChoice }))
      assert.deepEqual(subject.server.received()?.toolChoice, toolChoice)
    }
  })

  check('the request for a single call arrives', async (subject, skip) => {
    if (lacks(subject, 'parallelToolCalls')) return skip(lacking('parallelToolCalls'))
    await hearAll(subject, question(subject, { tools, parallelToolCalls: false }))
    assert.equal(subject.server.received()?.parallelToolCalls, false)
  })

  check('which tools are strict arrives', async (subject, skip) => {
    if (lacks(subject, 'strictTools')) return skip(lacking('strictTools'))
    const parameters = { type: 'object', properties: {}, additionalProperties: false }
    const [weather] = tools
    assert.ok(weather !== undefined)
    await hearAll(
      subject,
      question(subject, { tools: [weather, { name: 'clock', parameters, strict: true }] }),
    )
    const received = subject.server.received()?.tools?.map(({ name, strict = false }) => [name, strict])
    assert.deepEqual(received, [
      ['weather', false],
      ['clock', true],
    ])
  })

  check('calls and answers of tools arrive', async (subject) => {
    const messages: ChatMessage[] = [
      { role: 'user', content: 'What is the weather in São Paulo and Lima?' },
      { role: 'assistant', content: '', toolCalls: calls.slice(0, 2) },
      { role: 'tool', toolCallId: 'call_a1', content: 'rain, 18 °C' },
      { role: 'tool', toolCallId: 'call_b2', content: '{"sky":"fog"}' },
      { role: 'assistant', content: 'I look at the clock too.', toolCalls: calls.slice(2) },
      { role: 'tool', toolCallId: 'call_c3', content: '12:30' },
    ]
    await hearAll(subject, question(subject, { messages, tools }))
    assertMessages(subject.server.received()?.messages ?? [], messages)
  })
}

/** Ids may differ from the server's: if the protocol has none, the provider makes them. */
function assertCalls(deltas: readonly ChatDelta[], expected: readonly ChatToolCall[]): void {
  const heard: { id: string; name: string; arguments: string }[] = []
  for (const delta of deltas) {
    if (delta.type !== 'tool_call') continue
    const { id = '', name = '', arguments: text } = heard[delta.index] ?? {}
    heard[delta.index] = {
      id: id || (delta.id ?? ''),
      name: name || (delta.name ?? ''),
      arguments: (text ?? '') + (delta.arguments ?? ''),
    }
  }
  const meaning = (call: Omit<ChatToolCall, 'id'>) => [call.name, JSON.parse(call.arguments)]
  assert.deepEqual(heard.map(meaning), expected.map(meaning))
  assert.equal(new Set(heard.map(({ id }) => id)).size, expected.length, 'each call has an id of its own')
}
