import assert from 'node:assert/strict'
import { hearAll, question } from './chatting.ts'
import type { AiCheck } from './subject.ts'

export function jsonChecks(check: AiCheck): void {
  check('the wish for JSON arrives, where the provider supports it', async (subject) => {
    if (!subject.provider.supports?.json) return
    const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
    for (const json of [{}, { schema }]) {
      if (!('schema' in json) && subject.wireLacks?.includes('jsonWithoutSchema')) continue
      await hearAll(subject, question(subject, { json }))
      assert.deepEqual(subject.server.received()?.json, json)
    }
  })
}
