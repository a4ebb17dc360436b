import { test } from 'tap'
import { chat, key, providerOf, subject } from './fixtures/chatting.ts'
import { startOpenAIServer } from './openai-server.ts'

test('The limit of the reply has the field name of the server', async (t) => {
  const { server, provider } = await subject(t)
  const sent = () => server.requests.at(-1)?.body as unknown as Record<string, unknown>
  await chat(provider, { maxTokens: 50 })
  t.match(sent(), { max_tokens: 50, max_completion_tokens: undefined })
  await chat(providerOf(server, { tokenLimitField: 'max_completion_tokens' }), { maxTokens: 50 })
  t.match(sent(), { max_tokens: undefined, max_completion_tokens: 50 })
})

test('A request has only the headers and fields that the chat needs', async (t) => {
  const { server, provider } = await subject(t)
  await chat(provider)
  const [request] = server.requests
  t.strictSame(request?.body, {
    model: 'gpt-small',
    messages: [{ role: 'user', content: 'Say hello.' }],
    stream: true,
    stream_options: { include_usage: true },
  })
  const own = new Set(['authorization', 'content-type', 'content-length', 'accept', 'user-agent'])
  const ofFetch = new Set(['host', 'connection', 'accept-language', 'sec-fetch-mode', 'accept-encoding'])
  const others = Object.keys(request?.headers ?? {}).filter((name) => !own.has(name) && !ofFetch.has(name))
  t.strictSame(others, [], 'The headers have neither the operating system nor the version of Node.')
})

test("Every option of the contract is sent under OpenAI's own name", async (t) => {
  const { server, provider } = await subject(t)
  const sent = () => server.requests.at(-1)?.body as unknown as Record<string, unknown>
  const schema = { type: 'object', properties: {}, additionalProperties: false }
  const url = 'data:image/png;base64,AAAA'
  await chat(provider, {
    messages: [
      {
        role: 'user',
        content: [
          { type: 'image', url, detail: 'low' },
          { type: 'image', url },
        ],
      },
    ],
    temperature: 1,
    topP: 0.5,
    frequencyPenalty: -1.5,
    presencePenalty: 0,
    seed: 0,
    reasoningEffort: 'minimal',
    stop: ['END'],
    tools: [
      { name: 'look', description: 'Looks.', parameters: schema, strict: true },
      { name: 'clock', parameters: schema, strict: false },
      { name: 'map', parameters: schema },
    ],
    toolChoice: { name: 'look' },
    parallelToolCalls: false,
    json: { name: 'sum', description: 'What it comes to.', schema, strict: true },
  })
  t.strictSame(sent(), {
    model: 'gpt-small',
    messages: [
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url, detail: 'low' } },
          { type: 'image_url', image_url: { url } },
        ],
      },
    ],
    stream: true,
    stream_options: { include_usage: true },
    temperature: 1,
    top_p: 0.5,
    frequency_penalty: -1.5,
    presence_penalty: 0,
    seed: 0,
    reasoning_effort: 'minimal',
    stop: ['END'],
    tools: [
      {
        type: 'function',
        function: { name: 'look', description: 'Looks.', parameters: schema, strict: true },
      },
      { type: 'function', function: { name: 'clock', parameters: schema, strict: false } },
      { type: 'function', function: { name: 'map', parameters: schema } },
    ],
    tool_choice: { type: 'function', function: { name: 'look' } },
    parallel_tool_calls: false,
    response_format: {
      type: 'json_schema',
      json_schema: { name: 'sum', description: 'What it comes to.', schema, strict: true },
    },
  })

  // The API requires a name, and accepts the option of parallel calls only with tools.
  await chat(provider, { json: { schema }, tools: [], parallelToolCalls: true })
  t.strictSame(sent().response_format, { type: 'json_schema', json_schema: { name: 'reply', schema } })
  t.notOk('tools' in sent() || 'parallel_tool_calls' in sent())
  await chat(provider, { json: { name: 'sum', strict: true } })
  t.strictSame(sent().response_format, { type: 'json_object' })
})

test('Variables of the SDK in the environment change nothing', async (t) => {
  const [server, other] = await Promise.all([startOpenAIServer(), startOpenAIServer()])
  t.teardown(() => Promise.all([server.stop(), other.stop()]))
  const variables = {
    OPENAI_API_KEY: 'sk-other-key',
    OPENAI_ADMIN_KEY: 'sk-admin-key',
    OPENAI_BASE_URL: other.url,
    OPENAI_ORG_ID: 'org-7',
    OPENAI_PROJECT_ID: 'proj-7',
    OPENAI_CUSTOM_HEADERS: 'x-custom: 7',
    OPENAI_LOG: 'debug',
  }
  const printed: unknown[][] = []
  const { debug, info, warn, error } = console
  const print = (...words: unknown[]) => printed.push(words)
  Object.assign(process.env, variables)
  Object.assign(console, { debug: print, info: print, warn: print, error: print })
  t.teardown(() => {
    for (const name of Object.keys(variables)) delete process.env[name]
    Object.assign(console, { debug, info, warn, error })
  })
  const provider = providerOf(server, { key: '' })
  await chat(provider)
  server.play({ kind: 'garbage' })
  await t.rejects(chat(provider))
  t.equal(other.requests.length, 0)
  const sent = JSON.stringify(server.requests[0]?.headers)
  t.notMatch(sent, /sk-|org-7|proj-7|x-custom/)
  t.strictSame(printed, [], 'The SDK prints nothing.')
})

test('The provider does not follow a redirect, so the key goes to no other server', async (t) => {
  const { server, provider } = await subject(t)
  const elsewhere = await startOpenAIServer(key)
  t.teardown(() => elsewhere.stop())
  for (const status of [301, 302, 303, 307, 308]) {
    const to = (path: string) => ({ location: `${elsewhere.url}${path}` })
    server.answer = (response) => response.writeHead(status, to('/chat/completions')).end()
    server.answer = (response) => response.writeHead(status, to('/models')).end()
    const moved = { code: 'UPSTREAM_ERROR', permanent: true, message: /correct ai-openai\.baseURL/ }
    await t.rejects(chat(provider), moved, String(status))
    await t.rejects(provider.models(AbortSignal.timeout(5000)), moved, String(status))
  }
  t.strictSame(elsewhere.requests, [])
})
