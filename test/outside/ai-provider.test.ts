import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { consumerForTest } from './consumer.ts'
import { makePlugin } from './made-plugin.ts'
import { run, start } from './terminal.ts'

const nodekeep = 'node_modules/.bin/nodekeep'
const wallet = '0x52908400098527886E0F7030069857D2E4169EE7'

const { folder } = await consumerForTest(t)

t.test('an AI provider of the scaffold passes the suite and replies to users', async (t) => {
  const { plugin, tests } = await makePlugin(t, folder, 'ai', 'my-provider')
  t.match(tests, /arrive as they were sent/)

  const acme = createServer((request, response) => {
    const models = `${JSON.stringify({ models: ['acme-1'] })}\n`
    response.end(request.url === '/models' ? models : '{"text":"Hello"}\n{"text":"!"}\n{"end":"stop"}\n')
  })
  acme.listen(0, '127.0.0.1')
  await once(acme, 'listening')
  t.teardown(() => acme.close())
  const { port } = acme.address() as AddressInfo
  await writeFile(
    join(folder, 'acme.json'),
    JSON.stringify({
      data: './acme-data',
      server: { port: 0 },
      plugins: { ai: true, 'ai-my-provider': { from: plugin } },
      'ai-my-provider': { url: `http://127.0.0.1:${port}` },
    }),
  )
  const node = await start(t, folder, `exec ${nodekeep} start --config acme.json`)
  const token = await run(folder, `${nodekeep} session create --config acme.json --wallet ${wallet}`)
  const headers = { authorization: `Bearer ${token.trim()}`, 'content-type': 'application/json' }
  const listed = await fetch(new URL('/api/ai/models', node.url), { headers })
  t.strictSame(await listed.json(), { providers: { 'my-provider': ['acme-1'] } })
  const messages = [{ role: 'user', content: 'Say hello.' }]
  const body = JSON.stringify({ provider: 'my-provider', model: 'acme-1', messages, stream: true })
  const chat = await fetch(new URL('/api/ai/chat', node.url), { method: 'POST', headers, body })
  t.match(await chat.text(), /^(data: \{"chunk":"(Hello|!|Hello!)"\}\n\n){1,2}data: \[DONE\]\n\n$/)
  t.equal(await node.stop(), 0)
})
