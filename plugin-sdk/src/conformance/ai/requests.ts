import assert from 'node:assert/strict'
import type { ChatMessage } from '../../contracts/ai.ts'
import { hearAll, question } from './chatting.ts'
import { assertMessages } from './messages.ts'
import type { AiCheck } from './subject.ts'

/** An image of one pixel. */
const pixel =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

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

  check('the options of a request arrive', async (subject) => {
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
    await hearAll(subject, question(subject, options))
    const received = subject.server.received()
    for (const [option, value] of Object.entries(options)) {
      if (subject.wireLacks?.some((gap) => gap === option)) continue
      assert.deepEqual(received?.[option as keyof typeof options], value, `"${option}" arrives`)
    }
  })

  check('options that the request does not have do not arrive', async (subject) => {
    await hearAll(subject)
    // Some protocols require the longest reply.
    const { model, messages, maxTokens, ...options } = subject.server.received() ?? {}
    for (const [option, value] of Object.entries(options)) {
      assert.equal(value, undefined, `the request has no "${option}"`)
    }
  })

  check('the greatest temperature is not refused, and no greater one arrives', async (subject) => {
    await hearAll(subject, question(subject, { temperature: 2 }))
    if (subject.wireLacks?.includes('temperature')) return
    const { temperature = Number.NaN } = subject.server.received() ?? {}
    assert.ok(temperature >= 1 && temperature <= 2, `2 arrives as ${temperature}`)
  })

  check('images arrive, if the provider supports them', async (subject) => {
    if (!subject.provider.supports?.images) return
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

export function jsonChecks(check: AiCheck): void {
  check('the request for JSON arrives, if the provider supports it', async (subject) => {
    if (!subject.provider.supports?.json) return
    for (const json of [{}, { schema }]) {
      if (!('schema' in json) && subject.wireLacks?.includes('jsonWithoutSchema')) continue
      await hearAll(subject, question(subject, { json }))
      const received = subject.server.received()?.json
      assert.ok(received !== undefined, 'the request for JSON arrives')
      assert.deepEqual(received.schema, json.schema)
    }
  })

  check(
    'the name of JSON, and whether it is strict, arrive, if the provider supports it',
    async (subject) => {
      if (!subject.provider.supports?.json) return
      const closed = { ...schema, additionalProperties: false }
      await hearAll(
        subject,
        question(subject, { json: { schema: closed, name: 'city_reply', strict: true } }),
      )
      const { name, strict } = subject.server.received()?.json ?? {}
      if (!subject.wireLacks?.includes('jsonName')) assert.equal(name, 'city_reply')
      if (!subject.wireLacks?.includes('strictJson')) assert.equal(strict, true)
    },
  )
}
