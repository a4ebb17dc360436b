import { join } from 'node:path'
import { test } from 'tap'
import { chat, key, textOf } from './fixtures/chatting.ts'
import { providerNode } from './fixtures/provider-node.ts'
import { startOpenAIServer } from './openai-server.ts'

test('instances have names, servers and keys of their own', async (t) => {
  const [ours, theirs] = await Promise.all([startOpenAIServer(key), startOpenAIServer()])
  t.teardown(() => Promise.all([ours.stop(), theirs.stop()]))
  ours.play({ kind: 'reply', text: ['ours'], finish: 'stop' })
  theirs.play({ kind: 'reply', text: ['theirs'], finish: 'stop' })
  const { providers } = await providerNode(t, {
    plugins: { lmstudio: { from: 'ai-openai' } },
    'ai-openai': { apiKey: key, baseURL: ours.url },
    lmstudio: { baseURL: theirs.url, models: ['qwen', 'qwen', 'gemma'] },
  })
  t.strictSame([...providers.names()].sort(), ['lmstudio', 'openai'])
  t.equal(textOf(await chat(providers.get('openai'))), 'ours')
  t.equal(textOf(await chat(providers.get('lmstudio'))), 'theirs')
  t.equal(theirs.requests[0]?.headers.authorization, undefined, 'the key of one goes to no other')
  t.strictSame(await providers.get('lmstudio')?.models(AbortSignal.timeout(5000)), ['qwen', 'gemma'])
  t.equal(theirs.requests.length, 1, 'a list of the configuration is not asked for')
})

test('without a key, OpenAI itself has no models and says who can help', async (t) => {
  for (const section of [{}, { apiKey: '' }, { apiKey: ' ' }]) {
    const { providers } = await providerNode(t, { 'ai-openai': section })
    const provider = providers.get('openai')
    t.strictSame(await provider?.models(AbortSignal.timeout(5000)), [])
    await t.rejects(chat(provider), {
      code: 'UPSTREAM_ERROR',
      permanent: true,
      message: /no key.*owner of the node must set ai-openai\.apiKey/,
    })
  }
})

test('a key from the environment is sent, and neither logged nor told', async (t) => {
  const server = await startOpenAIServer(key)
  t.teardown(() => server.stop())
  for (const environment of [{ NODEKEEP_AI_OPENAI__API_KEY: key }, { OPENAI_API_KEY: key }]) {
    const apiKey = 'OPENAI_API_KEY' in environment ? { apiKey: `\${OPENAI_API_KEY}` } : {}
    const { providers, log } = await providerNode(
      t,
      { 'ai-openai': { ...apiKey, baseURL: server.url } },
      { environment },
    )
    const provider = providers.get('openai')
    t.equal(textOf(await chat(provider)), 'Hello!')
    server.answer = (response) => response.writeHead(400).end(`Bearer ${key} is no good`)
    await t.rejects(chat(provider), { code: 'VALIDATION_ERROR', message: /Bearer \[secret\] is no good/ })
    server.answer = null
    t.notMatch(log.join('\n'), key)
  }
})

test('the preset takes the key from OPENAI_API_KEY', async (t) => {
  const server = await startOpenAIServer(key)
  t.teardown(() => server.stop())
  const preset = join(import.meta.dirname, '../../../config/default.json')
  const config = { extends: [preset], 'ai-openai': { baseURL: server.url } }
  const { providers } = await providerNode(t, config, { environment: { OPENAI_API_KEY: key } })
  t.equal(textOf(await chat(providers.get('openai'))), 'Hello!')
})

test('a node does not start with a key that no header can carry', async (t) => {
  for (const apiKey of ['sk-secret\nbreak', 'sk secret', 'sk-secrät', 'sk-secret\u200b']) {
    const failure = await providerNode(t, { 'ai-openai': { apiKey } }).then(() => '', String)
    t.match(failure, /ai-openai\.apiKey .* must be a key without spaces, .* Copy it again\./, apiKey)
    t.notMatch(failure, /secr/, apiKey)
  }
})

test('a node does not start with an address that a key must not go to', async (t) => {
  const section = { apiKey: key, baseURL: 'http://api.example.org/v1' }
  const failure = await providerNode(t, { 'ai-openai': section }).then(() => '', String)
  t.match(failure, /ai-openai\.baseURL must be an https address/)
  t.notMatch(failure, key)
})
