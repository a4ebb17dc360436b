import type OpenAI from 'openai'
import { test } from 'tap'
import { clientOf, createApiNode, finish, refusal, replying, text } from '../fixtures/openai-api-node.ts'

const schema = { type: 'object', properties: { a: { type: 'number' } } }
const ask = (format: object) => {
  const messages = [{ role: 'user', content: 'Hello' }]
  const request = { model: 'acme/large', messages, response_format: format }
  return request as OpenAI.ChatCompletionCreateParamsNonStreaming
}

test('A schema that is missing or in an unread field is refused', async (t) => {
  const provider = replying([text('{}'), finish()])
  const node = await createApiNode({ acme: provider })
  t.teardown(() => node.stop())
  const { completions } = clientOf(node, await node.signIn()).chat
  const missing = /"response_format" needs the JSON Schema of the reply as "json_schema\.schema"/
  for (const [format, message] of [
    [{ type: 'json_schema' }, missing],
    [{ type: 'json_schema', json_schema: null }, missing],
    [{ type: 'json_schema', json_schema: { name: 'sum' } }, missing],
    [{ type: 'json_schema', json_schema: { name: 'sum', schema: null } }, missing],
    [{ type: 'json_schema', json_schema: schema }, missing],
    [{ type: 'json_schema', schema }, missing],
    [{ type: 'json_schema', json_schema: { schema: true } }, /json_schema\.schema/],
    [{ type: 'json_object', schema: 'a' }, /response_format\.schema/],
    [{ type: 'json_object', json_schema: { schema } }, /has a "json_schema".*the type "json_schema"/],
    [{ type: 'text', json_schema: { schema } }, /has a "json_schema".*the type "json_schema"/],
    [{ type: 'text', schema }, /has a "schema", but asks for text/],
  ] as const) {
    const error = await refusal(completions.create(ask(format)))
    t.match(error, { status: 400, code: 'VALIDATION_ERROR', message }, JSON.stringify(format))
  }
  t.equal(provider.asked.length, 0)
})

test('The schema of a "json_object" arrives, and null fields have no effect', async (t) => {
  const provider = replying([text('{}'), finish()])
  const node = await createApiNode({ acme: provider })
  t.teardown(() => node.stop())
  const { completions } = clientOf(node, await node.signIn()).chat
  await completions.create(ask({ type: 'json_object', schema }))
  for (const type of ['json_object', 'text']) {
    await completions.create(ask({ type, schema: null, json_schema: null }))
  }
  t.strictSame(
    provider.asked.map(({ json }) => json),
    [{ schema }, {}, undefined],
  )
})
