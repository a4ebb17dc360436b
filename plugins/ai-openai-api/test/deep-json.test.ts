import type OpenAI from 'openai'
import { test } from 'tap'
import { clientOf, createApiNode, finish, refusal, replying, text } from './fixtures/openai-api-node.ts'

const model = 'acme/large'
const hello = { role: 'user' as const, content: 'Hello' }
const mostLevels = 100

/** Returns a JSON text of nested objects of a number of levels. */
const nested = (levels: number) => `${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`
const lists = (levels: number) => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`

/** The fields of a request that may have JSON of any depth, each with the text of its body. */
const bodies: Readonly<Record<string, (json: string) => string>> = {
  'the schema of a tool': (json) =>
    `"messages":[${JSON.stringify(hello)}],"tools":[{"type":"function","function":{"name":"a","parameters":${json}}}]`,
  'the schema of the reply': (json) =>
    `"messages":[${JSON.stringify(hello)}],"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":${json}}}`,
  'the arguments of a call': (json) =>
    `"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"a","arguments":${JSON.stringify(json)}}}]},${JSON.stringify(hello)}]`,
}

test('JSON that is nested too deeply is refused at every depth', async (t) => {
  const provider = replying([text('Hi'), finish()])
  const node = await createApiNode({ acme: provider })
  t.teardown(() => node.stop())
  const user = await node.signIn()
  const send = (body: string) =>
    user.fetch('/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: `{"model":"${model}",${body}}`,
    })
  for (const [field, body] of Object.entries(bodies)) {
    for (const json of [nested, lists]) {
      t.equal((await send(body(json(mostLevels)))).status, 200, field)
      const { length } = provider.asked
      for (const levels of [mostLevels + 1, 100_000]) {
        for (const stream of ['', ',"stream":true']) {
          const answer = await send(body(json(levels)) + stream)
          t.equal(answer.status, 400, `${field}, ${levels} levels`)
          t.match(await answer.json(), {
            error: {
              type: 'invalid_request_error',
              code: 'VALIDATION_ERROR',
              message: /more than 1000? levels/,
            },
          })
        }
      }
      t.equal(provider.asked.length, length)
    }
  }
})

test("OpenAI's client gets the error of an invalid request", async (t) => {
  const node = await createApiNode({ acme: replying([text('Hi'), finish()]) })
  t.teardown(() => node.stop())
  const { completions } = clientOf(node, await node.signIn()).chat
  const ask = (levels: number) => {
    const parameters = JSON.parse(nested(levels)) as Record<string, unknown>
    const tools: OpenAI.ChatCompletionTool[] = [{ type: 'function', function: { name: 'a', parameters } }]
    return completions.create({ model, messages: [hello], tools })
  }
  await ask(mostLevels)
  t.match(await refusal(ask(mostLevels + 1)), { status: 400, type: 'invalid_request_error' })
})

test('JSON of any depth is harmless in all other fields', async (t) => {
  const provider = replying([text('Hi'), finish()])
  const node = await createApiNode({ acme: provider })
  t.teardown(() => node.stop())
  const user = await node.signIn()
  const deep = nested(900)
  const message = JSON.stringify(hello)
  for (const [status, body] of [
    // These fields are left unread.
    [200, `{"model":"${model}","messages":[${message}],"metadata":${deep}}`],
    [200, `{"model":"${model}","messages":[{"role":"user","content":"Hello","annotations":${deep}}]}`],
    [200, `{"model":"${model}","messages":[{"role":"user","content":${JSON.stringify(deep)}}]}`],
    // These fields have another type.
    [400, `{"model":${deep},"messages":[${message}]}`],
    [400, `{"model":"${model}","messages":${deep}}`],
    [400, `{"model":"${model}","messages":[${deep}]}`],
    [400, `{"model":"${model}","messages":[{"role":"user","content":${deep}}]}`],
    [400, `{"model":"${model}","messages":[{"role":"user","content":[${deep}]}]}`],
    [400, `{"model":"${model}","messages":[${message}],"tools":${deep}}`],
    [400, `{"model":"${model}","messages":[${message}],"tool_choice":${deep}}`],
    [400, `{"model":"${model}","messages":[${message}],"response_format":${deep}}`],
    [400, `{"model":"${model}","messages":[${message}],"logit_bias":${deep}}`],
    [400, deep],
    [400, nested(100_000)],
    [400, `{"model":"${model}","messages":[${message}],"metadata":${nested(100_000)}}`],
  ] as const) {
    const headers = { 'content-type': 'application/json' }
    const answer = await user.fetch('/v1/chat/completions', { method: 'POST', headers, body })
    const beginning = body.slice(0, 100)
    t.equal(answer.status, status, beginning)
    const { error } = (await answer.json()) as { error?: object }
    if (status === 400) t.match(error, { code: 'VALIDATION_ERROR' }, beginning)
  }
})
