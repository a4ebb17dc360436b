import { registerHooks } from 'node:module'
import { test } from 'tap'
import { startNode } from './chat-node.ts'
import { chat } from './chatting.ts'
import { startOllamaServer } from './ollama-server.ts'

const loaded: string[] = []
registerHooks({
  resolve(specifier, context, next) {
    loaded.push(specifier)
    return next(specifier, context)
  },
})

test('The SDK is loaded at the first call and prints nothing', async (t) => {
  process.env.OLLAMA_API_KEY = 'key-of-somebody-else'
  t.teardown(() => {
    delete process.env.OLLAMA_API_KEY
  })
  const server = await startOllamaServer()
  t.teardown(() => server.stop())
  const { node, providers, log } = await startNode({ 'ai-ollama': { host: server.url } })
  t.teardown(() => node.stop())
  const provider = providers.get('ollama')
  if (provider === undefined) throw new Error('The plugin did not add "ollama".')
  t.notOk(loaded.includes('ollama/browser'), 'The start does not load the SDK.')

  const written = (['debug', 'info', 'log', 'warn', 'error'] as const).map((name) => t.capture(console, name))
  await chat(provider)
  server.play({ kind: 'garbage' })
  await t.rejects(chat(provider))
  for (const [status, type] of [
    [500, 'text/plain'],
    [500, 'application/json'],
  ] as const) {
    server.answer = (response) => {
      response.writeHead(status, { 'content-type': type }).end('<html>')
    }
    await t.rejects(chat(provider))
  }
  t.same(
    written.flatMap((calls) => calls()),
    [],
  )
  t.ok(loaded.includes('ollama/browser'), 'The first chat loads the SDK.')
  t.match(server.headers(), { 'content-type': 'application/json', 'user-agent': 'Nodekeep' })
  t.notOk('authorization' in server.headers())
  t.notOk(log.join('\n').includes('Peru'), 'The chat is not logged.')
})
