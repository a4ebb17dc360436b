import assert from 'node:assert/strict'
import type { ChatMessage, ChatRequest } from '../../contracts/ai.ts'
import { hearAll, question } from './chatting.ts'
import { assertMessages } from './messages.ts'
import { type AiCheck, lacking, lacks, type WireGap } from './subject.ts'

/** An image of one pixel. */
const pixel =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const options = {
  maxTokens: 321,
  temperature: 0.5,
  topP: 0.25,
  frequencyPenalty: 0.75,
  presencePenalty: -0.5,
  seed: 4711,
  reasoningEffort: 'high',
  stop: ['END', '###'],
} as const

export function requestChecks(check: AiCheck): void {
  check('the model and the conversation arrive as they were sent', async (subject) => {
    const messages: ChatMessage[] = [
      { role: 'system', content: 'Answer in one word. 日本語も可。' },
      { role: 'user', content: 'What is the capital of "Peru"?\n\nAnd don\'t say {"text":1}.' },
      { role: 'assistant', content: 'Lima 🙂' },
      { role: 'user', content: [{ type: 'text', text: 'And of Chile?' }] },
    ]
    for (const model of subject.models) {
      await hearAll(subject, { model, messages })
      const received = subject.server.received()
      assert.equal(received?.model, model)
      assertMessages(received?.messages ?? [], messages)
    }
  })

  check('the text parts of a message stay parts, or are joined with line ends', async (subject) => {
    const parts: ChatMessage['content'] = [
      { type: 'text', text: 'One.' },
      { type: 'text', text: 'Two.' },
    ]
    const messages: ChatMessage[] = [
      { role: 'system', content: parts },
      { role: 'user', content: parts },
    ]
    await hearAll(subject, question(subject, { messages }))
    for (const { role, content } of subject.server.received()?.messages ?? []) {
      const texts =
        typeof content === 'string' ? [content] : content.map((part) => part.type === 'text' && part.text)
      assert.equal(texts.join('\n'), 'One.\nTwo.', `the text of the message of the ${role}`)
    }
  })

  for (const [option, value] of Object.entries(options)) {
    check(`the option "${option}" arrives`, async (subject, skip) => {
      if (lacks(subject, option)) return skip(lacking(option as keyof typeof options))
      await hearAll(subject, question(subject, options))
      assert.deepEqual(subject.server.received()?.[option as keyof typeof options], value)
    })
  }

  check('options that the request does not have do not arrive', async (subject) => {
    await hearAll(subject)
    // Some protocols require the longest reply.
    const { model, messages, maxTokens, ...options } = subject.server.received() ?? {}
    for (const [option, value] of Object.entries(options)) {
      assert.equal(value, undefined, `the request has no "${option}"`)
    }
  })

  check('the greatest temperature is not refused', async (subject) => {
    await hearAll(subject, question(subject, { temperature: 2 }))
  })

  check('the greatest temperature arrives within the scale of the protocol', async (subject, skip) => {
    if (lacks(subject, 'temperature')) return skip(lacking('temperature'))
    await hearAll(subject, question(subject, { temperature: 2 }))
    const { temperature = Number.NaN } = subject.server.received() ?? {}
    assert.ok(temperature >= 1 && temperature <= 2, `2 arrives as ${temperature}`)
  })

  check('images arrive', async (subject, skip) => {
    if (!subject.provider.supports?.images) return skip('The provider does not support images.')
    const messages: ChatMessage[] = [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image', url: pixel },
        ],
      },
    ]
    await hearAll(subject, question(subject, { messages }))
    assertMessages(subject.server.received()?.messages ?? [], messages)
  })
}

const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const closed = { ...schema, additionalProperties: false }

export function jsonChecks(register: AiCheck): void {
  const check = (
    name: string,
    gap: WireGap | null,
    json: NonNullable<ChatRequest['json']>,
    assertReceived: (received: NonNullable<ChatRequest['json']>) => void,
  ) =>
    register(name, async (subject, skip) => {
      if (!subject.provider.supports?.json) return skip('The provider does not support replies in JSON.')
      if (gap !== null && lacks(subject, gap)) return skip(lacking(gap))
      await hearAll(subject, question(subject, { json }))
      const received = subject.server.received()?.json
      assert.ok(received !== undefined, 'the request for JSON arrives')
      assertReceived(received)
    })

  check('the request for JSON of any form arrives', 'jsonWithoutSchema', {}, (received) =>
    assert.equal(received.schema, undefined),
  )
  check('the request for JSON of a schema arrives', null, { schema }, (received) =>
    assert.deepEqual(received.schema, schema),
  )
  check('the name of JSON arrives', 'jsonName', { schema: closed, name: 'city_reply' }, (received) =>
    assert.equal(received.name, 'city_reply'),
  )
  check(
    'whether JSON is strict arrives',
    'strictJson',
    { schema: closed, name: 'city_reply', strict: true },
    (received) => assert.equal(received.strict, true),
  )
}
