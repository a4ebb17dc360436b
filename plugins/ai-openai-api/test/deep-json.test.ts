import type OpenAI from 'openai'
import { test } from 'tap'
import { clientOf, createApiNode, finish, refusal, replying, text } from './fixtures/openai-api-node.ts'

const model = 'acme/large'
const hello = { role: 'user' as const, content: 'Hello' }
const mostLevels = 100

/** A JSON text of so many objects within each other. */
const nested = (levels: number) => `${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`
const lists = (levels: number) => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`

/** Where a request may have JSON of any depth, as the text of its body. */
const places: Readonly<Record<string, (json: string) => string>> = {
  'the schema of a tool': (json) =>
    `"messages":[${JSON.stringify(hello)}],"tools":[{"type":"function","function":{"name":"a","parameters":${json}}}]`,
  'the schema of the reply': (json) =>
    `"messages":[${JSON.stringify(hello)}],"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":${json}}}`,
  'the arguments of a call': (json) =>
    `"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"a","arguments":${JSON.stringify(json)}}}]},${JSON.stringify(hello)}]`,
}

test('JSON that is nested too deeply is refused, however deep it is', async (t) => {
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
  for (const [place, body] of Object.entries(places)) {
    for (const json of [nested, lists]) {
      t.equal((await send(body(json(mostLevels)))).status, 200, place)
      const { length } = provider.asked
      for (const levels of [mostLevels + 1, 100_000]) {
        for (const stream of ['', ',"stream":true']) {
          const answer = await send(body(json(levels)) + stream)
          t.equal(answer.status, 400, `${place}, ${levels} levels`)
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

test("OpenAI's client hears of it as of any wrong request", async (t) => {
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

test('JSON of any depth harms nothing elsewhere', async (t) => {
  const provider = replying([text('Hi'), finish()])
  const node = await createApiNode({ acme: provider })
  t.teardown(() => node.stop())
  const user = await node.signIn()
  const deep = nested(900)
  const said = JSON.stringify(hello)
  for (const [status, body] of [
    // What is left unread.
    [200, `{"model":"${model}","messages":[${said}],"metadata":${deep}}`],
    [200, `{"model":"${model}","messages":[{"role":"user","content":"Hello","annotations":${deep}}]}`],
    [200, `{"model":"${model}","messages":[{"role":"user","content":${JSON.stringify(deep)}}]}`],
    // What has another form.
    [400, `{"model":${deep},"messages":[${said}]}`],
    [400, `{"model":"${model}","messages":${deep}}`],
    [400, `{"model":"${model}","messages":[${deep}]}`],
    [400, `{"model":"${model}","messages":[{"role":"user","content":${deep}}]}`],
    [400, `{"model":"${model}","messages":[{"role":"user","content":[${deep}]}]}`],
    [400, `{"model":"${model}","messages":[${said}],"tools":${deep}}`],
    [400, `{"model":"${model}","messages":[${said}],"tool_choice":${deep}}`],
    [400, `{"model":"${model}","messages":[${said}],"response_format":${deep}}`],
    [400, `{"model":"${model}","messages":[${said}],"logit_bias":${deep}}`],
    [400, deep],
    [400, nested(100_000)],
    [400, `{"model":"${model}","messages":[${said}],"metadata":${nested(100_000)}}`],
  ] as const) {
    const headers = { 'content-type': 'application/json' }
    const answer = await user.fetch('/v1/chat/completions', { method: 'POST', headers, body })
    const place = body.slice(0, 100)
    t.equal(answer.status, status, place)
    const { error } = (await answer.json()) as { error?: object }
    if (status === 400) t.match(error, { code: 'VALIDATION_ERROR' }, place)
  }
})
