import { join } from 'node:path'
import { test } from 'tap'
import { chat, key, textOf } from './fixtures/chatting.ts'
import { startProviderNode } from './fixtures/provider-node.ts'
import { startOpenAIServer } from './openai-server.ts'

test('Each instance has its own name, server and key', async (t) => {
  const [withKey, withoutKey] = await Promise.all([startOpenAIServer(key), startOpenAIServer()])
  t.teardown(() => Promise.all([withKey.stop(), withoutKey.stop()]))
  withKey.play({ kind: 'reply', text: ['ours'], finish: 'stop' })
  withoutKey.play({ kind: 'reply', text: ['theirs'], finish: 'stop' })
  const { providers } = await startProviderNode(t, {
    plugins: { lmstudio: { from: 'ai-openai' } },
    'ai-openai': { apiKey: key, baseURL: withKey.url },
    lmstudio: { baseURL: withoutKey.url, models: ['qwen', 'qwen', 'gemma'] },
  })
  t.strictSame([...providers.names()].sort(), ['lmstudio', 'openai'])
  t.equal(textOf(await chat(providers.get('openai'))), 'ours')
  t.equal(textOf(await chat(providers.get('lmstudio'))), 'theirs')
  t.equal(
    withoutKey.requests[0]?.headers.authorization,
    undefined,
    'The key of an instance goes to no other server.',
  )
  t.strictSame(await providers.get('lmstudio')?.models(AbortSignal.timeout(5000)), ['qwen', 'gemma'])
  t.equal(withoutKey.requests.length, 1, 'The provider does not request a list that is configured.')
})

test('Without a key, OpenAI has no models and its error names the owner', async (t) => {
  for (const section of [{}, { apiKey: '' }, { apiKey: ' ' }]) {
    const { providers } = await startProviderNode(t, { 'ai-openai': section })
    const provider = providers.get('openai')
    t.strictSame(await provider?.models(AbortSignal.timeout(5000)), [])
    await t.rejects(chat(provider), {
      code: 'UPSTREAM_ERROR',
      permanent: true,
      message: /no key.*owner of the node must set ai-openai\.apiKey/,
    })
  }
})

test('A key from the environment is sent, and neither logged nor shown', async (t) => {
  const server = await startOpenAIServer(key)
  t.teardown(() => server.stop())
  for (const environment of [{ NODEKEEP_AI_OPENAI__API_KEY: key }, { OPENAI_API_KEY: key }]) {
    const apiKey = 'OPENAI_API_KEY' in environment ? { apiKey: `\${OPENAI_API_KEY}` } : {}
    const { providers, log } = await startProviderNode(
      t,
      { 'ai-openai': { ...apiKey, baseURL: server.url } },
      { environment },
    )
    const provider = providers.get('openai')
    t.equal(textOf(await chat(provider)), 'Hello.')
    server.answer = (response) => response.writeHead(400).end(`Bearer ${key} is no good`)
    await t.rejects(chat(provider), { code: 'VALIDATION_ERROR', message: /Bearer \[secret\] is no good/ })
    server.answer = null
    t.notMatch(log.join('\n'), key)
  }
})

test('The preset reads the key from OPENAI_API_KEY', async (t) => {
  const server = await startOpenAIServer(key)
  t.teardown(() => server.stop())
  const preset = join(import.meta.dirname, '../../../config/default.json')
  const config = { extends: [preset], 'ai-openai': { baseURL: server.url } }
  const { providers } = await startProviderNode(t, config, { environment: { OPENAI_API_KEY: key } })
  t.equal(textOf(await chat(providers.get('openai'))), 'Hello.')
})

test('A node does not start with a key that no header can carry', async (t) => {
  for (const apiKey of ['sk-secret\nbreak', 'sk secret', 'sk-secrät', 'sk-secret\u200b']) {
    const failure = await startProviderNode(t, { 'ai-openai': { apiKey } }).then(() => '', String)
    t.match(failure, /ai-openai\.apiKey .* must be a key without spaces, .* Copy it again\./, apiKey)
    t.notMatch(failure, /secr/, apiKey)
  }
})

test('A node does not start with an address that must not get a key', async (t) => {
  const section = { apiKey: key, baseURL: 'http://api.example.org/v1' }
  const failure = await startProviderNode(t, { 'ai-openai': section }).then(() => '', String)
  t.match(failure, /ai-openai\.baseURL must be an https address/)
  t.notMatch(failure, key)
})
