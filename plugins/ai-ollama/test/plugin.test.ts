import { join } from 'node:path'
import { test } from 'tap'
import { startNode } from './chat-node.ts'
import { chat, textOf } from './chatting.ts'
import { models, startOllamaServer } from './ollama-server.ts'

const now = () => new AbortController().signal

test("The plugin reads the host in every form of Ollama's tools", async (t) => {
  const server = await startOllamaServer()
  t.teardown(() => server.stop())
  const { host, port } = new URL(server.url)
  for (const [section, environment] of [
    [{ host }, {}],
    [{ host: `http://${host}/` }, {}],
    [{ host: `localhost:${port}` }, {}],
    [{ host: `:${port}` }, {}],
    [{ host: `\t${host}\n` }, {}],
    [{}, { NODEKEEP_AI_OLLAMA__HOST: host }],
    [{ host: '$' + '{OLLAMA_HOST}' }, { OLLAMA_HOST: host }],
  ] as const) {
    const { node, providers } = await startNode({ 'ai-ollama': section }, environment)
    const provider = providers.get('ollama')
    t.same(await provider?.models(now()), models, JSON.stringify([section, environment]))
    t.match(provider?.host, /^(127\.0\.0\.1|localhost)$/)
    await node.stop()
  }
})

test('The preset reads the server from OLLAMA_HOST', async (t) => {
  const server = await startOllamaServer()
  t.teardown(() => server.stop())
  const config = { extends: [join(import.meta.dirname, '../../../config/default.json')] }
  const { node, providers } = await startNode(config, { OLLAMA_HOST: new URL(server.url).host })
  t.teardown(() => node.stop())
  t.same(await providers.get('ollama')?.models(now()), models)
})

test('An invalid host stops the start, and the error does not repeat it', async (t) => {
  for (const host of ['ftp://nas.local', 'unix:///run/ollama.sock', 'http://', '::1', 'nas:port']) {
    await t.rejects(startNode({ 'ai-ollama': { host } }), /ai-ollama\.host must be an address, such as/, host)
  }
  for (const host of ['http://user:s3cret@nas', 'user:s3cret@nas:11434', 'nas/?key=s3cret', 'nas#s3cret']) {
    const failed = await startNode({ 'ai-ollama': { host } }).catch(String)
    t.match(failed, /ai-ollama\.host must be an address without user/, host)
    t.notMatch(failed, 's3cret')
  }
  const { node, providers } = await startNode({ 'ai-ollama': { host: '' } })
  t.equal(providers.get('ollama')?.host, '127.0.0.1')
  await node.stop()
})

test('Each instance has its own name and server', async (t) => {
  const [first, second] = [await startOllamaServer(), await startOllamaServer()]
  t.teardown(() => Promise.all([first.stop(), second.stop()]))
  const { node, providers } = await startNode({
    plugins: { workshop: { from: 'ai-ollama' }, 'ai-attic': { from: 'ai-ollama' } },
    'ai-ollama': { host: first.url },
    workshop: { host: second.url },
    'ai-attic': { host: second.url },
  })
  t.teardown(() => node.stop())
  t.same(providers.names().sort(), ['attic', 'ollama', 'workshop'])
  for (const name of ['ollama', 'workshop', 'attic']) {
    const provider = providers.get(name)
    if (provider === undefined) throw new Error(`${name} is missing.`)
    t.equal(textOf(await chat(provider)), 'Hello.')
  }
  t.same([first.chats(), second.chats()], [1, 2])
})
