import { registerHooks } from 'node:module'
import { test } from 'tap'
import { key, startAnthropicServer } from './anthropic-server.ts'
import { startNode } from './chat-node.ts'
import { chat } from './chatting.ts'

const loaded: string[] = []
registerHooks({
  resolve(specifier, context, next) {
    loaded.push(specifier)
    return next(specifier, context)
  },
})

/** The variables that the SDK would read from the environment. */
const variables = {
  ANTHROPIC_API_KEY: 'sk-ant-of-somebody-else',
  ANTHROPIC_AUTH_TOKEN: 'token-of-somebody-else',
  ANTHROPIC_BASE_URL: 'http://127.0.0.1:9',
  ANTHROPIC_CUSTOM_HEADERS: 'authorization: Bearer other\nx-of-somebody-else: 1',
  ANTHROPIC_LOG: 'debug',
}

test('The SDK is loaded at the first call, prints nothing, and reads no variables', async (t) => {
  Object.assign(process.env, variables)
  t.teardown(() => {
    for (const name of Object.keys(variables)) delete process.env[name]
  })
  const server = await startAnthropicServer()
  t.teardown(() => server.stop())
  const { node, providers, log } = await startNode({ 'ai-anthropic': { apiKey: key, baseURL: server.url } })
  t.teardown(() => node.stop())
  const provider = providers.get('anthropic')
  if (provider === undefined) throw new Error('The plugin did not add "anthropic".')
  t.notOk(loaded.includes('@anthropic-ai/sdk'), 'The start does not load the SDK.')

  const written = (['debug', 'info', 'log', 'warn', 'error'] as const).map((name) => t.capture(console, name))
  for (const model of ['claude-opus-5-5', 'claude-sonnet-4-5', 'toString']) await chat(provider, { model })
  server.play({ kind: 'garbage' })
  await t.rejects(chat(provider))
  t.same(
    written.flatMap((calls) => calls()),
    [],
  )
  t.ok(loaded.includes('@anthropic-ai/sdk'), 'The first chat loads the SDK.')

  const { host, connection, 'content-length': length, ...headers } = server.headers()
  t.match(headers, {
    authorization: `Bearer ${key}`,
    'anthropic-version': '2026-10-21',
    'content-type': 'application/json',
    'user-agent': 'Nodekeep',
  })
  t.notOk(Object.keys(headers).some((name) => name.startsWith('x-')))
  t.notOk(log.join('\n').includes('Peru'), 'The chat is not logged.')
})
