import { NodekeepError } from '@nodekeep/plugin-sdk'
import { modelServer } from '@nodekeep/plugin-sdk/model-servers'
import OpenAI from 'openai'
import { test } from 'tap'
import { clientOf, createApiNode, finish, refusal, replying, text } from './fixtures/openai-api-node.ts'

const acme = modelServer({ name: 'acme', url: 'http://127.0.0.1:1', setting: 'ai-acme.url' })

const hello = [{ role: 'user' as const, content: 'Hello' }]

test('A wrong body is refused with the name of the wrong field and reaches no provider', async (t) => {
  const provider = replying([finish()])
  const node = await createApiNode({ acme: provider })
  t.teardown(() => node.stop())
  const user = await node.signIn()
  const bodies: readonly [body: unknown, names: RegExp][] = [
    [null, /body/],
    [[], /body/],
    [{ messages: hello }, /model/],
    [{ model: 'acme/large' }, /messages/],
    [{ model: 7, messages: hello }, /model/],
    [{ model: 'acme/large', messages: [] }, /messages/],
    [{ model: 'acme/large', messages: 'Hello' }, /messages/],
    [{ model: 'acme/large', messages: [null] }, /messages\.0/],
    [{ model: 'acme/large', messages: [{ role: 'wizard', content: 'a' }] }, /messages\.0\.role/],
    [{ model: 'acme/large', messages: [{ role: 'user' }] }, /messages\.0.*content/],
    [{ model: 'acme/large', messages: [{ role: 'user', content: 7 }] }, /messages\.0\.content/],
    [{ model: 'acme/large', messages: [{ role: 'user', content: [{ type: 'audio' }] }] }, /type/],
    [{ model: 'acme/large', messages: [{ role: 'user', content: [{ type: 'text' }] }] }, /text/],
    [{ model: 'acme/large', messages: [{ role: 'tool', content: 'a' }] }, /tool_call_id/],
    [{ model: 'acme/large', messages: hello, temperature: 3 }, /temperature/],
    [{ model: 'acme/large', messages: hello, max_tokens: 0 }, /max_tokens/],
    [{ model: 'acme/large', messages: hello, stop: [''] }, /stop/],
    [{ model: 'acme/large', messages: hello, tool_choice: 'maybe' }, /tool_choice/],
    [{ model: 'acme/large', messages: hello, n: 2 }, /"n"/],
    [{ model: 'acme/large', messages: hello, logprobs: true }, /logprobs/],
    [{ model: 'acme/large', messages: hello, functions: [{ name: 'clock' }] }, /"functions".*"tools"/],
    [{ model: 'acme/large', messages: hello, modalities: ['text', 'audio'] }, /modalities/],
    [{ model: 'acme/large', messages: hello, logit_bias: { 1734: -100 } }, /logit_bias/],
    [{ model: 'acme/large', messages: hello, web_search_options: {} }, /web_search_options/],
    [{ model: 'acme/large', messages: hello, moderation: { model: 'omni' } }, /moderation/],
    [{ model: 'acme/large', messages: hello, seed: 2 ** 60 }, /seed/],
    [{ model: 'acme/large', messages: hello, seed: 1.5 }, /seed/],
    [{ model: 'acme/large', messages: hello, frequency_penalty: 3 }, /frequency_penalty/],
    [{ model: 'acme/large', messages: hello, presence_penalty: '1' }, /presence_penalty/],
    [{ model: 'acme/large', messages: hello, reasoning_effort: 'huge' }, /reasoning_effort/],
    [{ model: 'acme/large', messages: hello, parallel_tool_calls: 'no' }, /parallel_tool_calls/],
    [{ model: 'acme/large', messages: hello, tools: [{ type: 'custom', custom: {} }] }, /tools\.0/],
    [{ model: 'acme/large', messages: hello, tool_choice: { type: 'allowed_tools' } }, /tool_choice/],
  ]
  for (const [body, names] of bodies) {
    const answer = await user.fetch('/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const { error } = (await answer.json()) as { error: Record<string, unknown> }
    t.equal(answer.status, 400, JSON.stringify(body))
    t.match(error, { type: 'invalid_request_error', param: null, code: 'VALIDATION_ERROR', message: names })
  }
  t.equal(provider.asked.length, 0)
})

test("Errors have OpenAI's form, so that its client reads them", async (t) => {
  const failing = replying([], {
    // biome-ignore lint/correctness/useYield: it fails before its first piece
    async *chat({ model }) {
      if (model === 'huge') throw new NodekeepError('NOT_FOUND', 'No.')
      throw new NodekeepError('TOO_MANY_REQUESTS', 'Too much at once.', { headers: { 'retry-after': '7' } })
    },
  })
  const node = await createApiNode({ acme: failing }, { ai: { retries: { max: 0 } } })
  t.teardown(() => node.stop())
  const client = clientOf(node, await node.signIn())
  const ask = (model: string) => client.chat.completions.create({ model, messages: hello })
  const limited = await refusal(ask('acme/large'))
  t.ok(limited instanceof OpenAI.RateLimitError)
  t.match(limited, { status: 429, type: 'rate_limit_error', code: 'rate_limit_exceeded' })
  t.equal((limited as InstanceType<typeof OpenAI.APIError>).headers?.get('retry-after'), '7')
  for (const model of ['nobody', 'nobody/large', 'acme/huge']) {
    const unknown = await refusal(ask(model))
    t.ok(unknown instanceof OpenAI.NotFoundError, model)
    t.match(unknown, { type: 'invalid_request_error', code: 'model_not_found' }, model)
  }
  t.match(await refusal(client.models.retrieve('acme/huge')), { status: 404, code: 'model_not_found' })

  for (const token of ['sk-made-up', ' ']) {
    const refused = await refusal(clientOf(node, { token }).models.list())
    t.ok(refused instanceof OpenAI.AuthenticationError)
    const message = /nodekeep token create --scope ai/
    t.match(refused, { type: 'invalid_request_error', code: 'invalid_api_key', message })
  }

  const lost = await node.fetch('/v1/embeddings', { method: 'POST' })
  t.equal(lost.status, 404)
  t.match(await lost.json(), { error: { type: 'invalid_request_error', code: 'NOT_FOUND' } })
})

test('Failures of a provider that OpenAI has codes for have these codes', async (t) => {
  const failing = replying([], {
    // biome-ignore lint/correctness/useYield: it fails before its first piece
    async *chat({ model }) {
      throw acme.error({ status: model === 'poor' ? 429 : 400, code: codes[model] ?? '' })
    },
  })
  const codes: Record<string, string> = { poor: 'insufficient_quota', short: 'context_length_exceeded' }
  const node = await createApiNode({ acme: failing })
  t.teardown(() => node.stop())
  const client = clientOf(node, await node.signIn())
  const ask = (model: string) => client.chat.completions.create({ model, messages: hello })
  const poor = await refusal(ask('acme/poor'))
  t.ok(poor instanceof OpenAI.RateLimitError)
  t.match(poor, { type: 'insufficient_quota', code: 'insufficient_quota', message: /no credit left/ })
  t.match(await refusal(ask('acme/short')), {
    status: 400,
    type: 'invalid_request_error',
    code: 'context_length_exceeded',
    param: 'messages',
  })
})

test("OpenAI's client does not repeat what the node has repeated", async (t) => {
  let calls = 0
  let retryAfter: string | null = null
  const failing = replying([], {
    // biome-ignore lint/correctness/useYield: it fails before its first piece
    async *chat() {
      calls += 1
      throw acme.error({ status: 503, retryAfter })
    },
  })
  const node = await createApiNode({ acme: failing }, { ai: { retries: { max: 1, firstDelayMs: 1 } } })
  t.teardown(() => node.stop())
  const client = clientOf(node, await node.signIn()).withOptions({ maxRetries: 1 })
  for (const stream of [false, true]) {
    calls = 0
    const failure = await refusal(
      client.chat.completions.create({ model: 'acme/large', messages: hello, stream }),
    )
    t.equal((failure as InstanceType<typeof OpenAI.APIError>).headers?.get('x-should-retry'), 'false')
    t.equal(calls, 2)
  }
  // The node does not wait for so long, so the client may.
  retryAfter = '3600'
  const late = await refusal(
    client.chat.completions.create({ model: 'acme/large', messages: hello }, { maxRetries: 0 }),
  )
  t.equal((late as InstanceType<typeof OpenAI.APIError>).headers?.get('x-should-retry'), null)
})

test('A failure within a reply ends the stream with an error', async (t) => {
  const breaking = replying([], {
    async *chat() {
      yield text('Half of ')
      throw new NodekeepError('UPSTREAM_ERROR', 'The model closed the connection.')
    },
  })
  const faulty = replying([], {
    async *chat() {
      yield text('Half of ')
      throw new Error('/root/secret')
    },
  })
  const node = await createApiNode({ breaking, faulty })
  t.teardown(() => node.stop())
  const user = await node.signIn()
  const client = clientOf(node, user)
  for (const model of ['breaking/large', 'faulty/large']) {
    let seen = ''
    const stream = await client.chat.completions.create({ model, messages: hello, stream: true })
    const read = async () => {
      for await (const chunk of stream) seen += chunk.choices[0]?.delta.content ?? ''
    }
    t.ok((await refusal(read())) instanceof OpenAI.APIError)
    t.equal(seen, 'Half of ')
    const body = JSON.stringify({ model, messages: hello, stream: true })
    const headers = { 'content-type': 'application/json' }
    const raw = await (await user.fetch('/v1/chat/completions', { method: 'POST', headers, body })).text()
    t.notMatch(raw, '[DONE]')
    t.notMatch(raw, 'secret')
    t.match(raw, '"type":"server_error"')
  }
  const whole = await refusal(client.chat.completions.create({ model: 'breaking/large', messages: hello }))

  t.match(whole, { status: 502, code: 'UPSTREAM_ERROR' })
})

test('A client that disconnects ends the chat at the provider', async (t) => {
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  const endless = replying([], {
    async *chat(_request, signal) {
      signal.addEventListener('abort', () => resolve())
      while (!signal.aborted) {
        yield text('and ')
        await new Promise((go) => setImmediate(go))
      }
    },
  })
  const node = await createApiNode({ endless })
  t.teardown(() => node.stop())
  const client = clientOf(node, await node.signIn())
  const stream = await client.chat.completions.create({
    model: 'endless/large',
    messages: hello,
    stream: true,
  })
  for await (const _chunk of stream) break
  await ended
})

test('A request over the limit is refused', async (t) => {
  const node = await createApiNode(
    { acme: replying([finish()]) },
    { 'ai-openai-api': { maxBodyBytes: 1024 } },
  )
  t.teardown(() => node.stop())
  const client = clientOf(node, await node.signIn())
  const messages = [{ role: 'user' as const, content: 'a'.repeat(2000) }]
  const call = client.chat.completions.create({ model: 'acme/large', messages })
  t.match(await refusal(call), { status: 413 })
})

test('An API token needs the scope "ai"', async (t) => {
  const node = await createApiNode({ acme: replying([text('Hi'), finish()]) })
  t.teardown(() => node.stop())
  const user = await node.signIn()
  const tokenWith = async (scopes: readonly string[]) => {
    const answer = await user.fetch('/api/account/tokens', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: scopes.join(), scopes }),
    })
    return ((await answer.json()) as { token: string }).token
  }
  const ask = async (token: string) =>
    clientOf(node, { token }).chat.completions.create({ model: 'acme/large', messages: hello })
  t.equal((await ask(await tokenWith(['ai']))).choices[0]?.message.content, 'Hi')
  t.match(await refusal(ask(await tokenWith(['notes:read']))), { status: 403 })
})
