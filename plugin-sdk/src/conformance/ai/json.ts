import assert from 'node:assert/strict'
import { hearAll, question } from './chatting.ts'
import type { AiCheck } from './subject.ts'

const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }

export function jsonChecks(check: AiCheck): void {
  check('the wish for JSON arrives, where the provider supports it', async (subject) => {
    if (!subject.provider.supports?.json) return
    for (const json of [{}, { schema }]) {
      if (!('schema' in json) && subject.wireLacks?.includes('jsonWithoutSchema')) continue
      await hearAll(subject, question(subject, { json }))
      const received = subject.server.received()?.json
      assert.ok(received !== undefined, 'the wish for JSON arrives')
      assert.deepEqual(received.schema, json.schema)
    }
  })

  check(
    'what JSON is called, and that it is strict, arrives, where the provider supports it',
    async (subject) => {
      if (!subject.provider.supports?.json) return
      const closed = { ...schema, additionalProperties: false }
      await hearAll(subject, question(subject, { json: { schema: closed, name: 'place', strict: true } }))
      const { name, strict } = subject.server.received()?.json ?? {}
      if (!subject.wireLacks?.includes('jsonName')) assert.equal(name, 'place')
      if (!subject.wireLacks?.includes('strictJson')) assert.equal(strict, true)
    },
  )
}
