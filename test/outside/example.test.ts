import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { root } from '../run/command.ts'
import { consumerForTest } from './consumer.ts'
import { run, start } from './terminal.ts'

const environment = { HELLO_LINK_KEY: 'a key of at least 32 characters, for tests' }
const nodekeep = 'node_modules/.bin/nodekeep'

const { folder, copyExample } = await consumerForTest(t)

t.test('the example passes its tests, compiles and works outside the repository', async (t) => {
  const copy = await copyExample('hello-plugin')
  await run(copy, 'npm test')
  const libraries = join(root, 'node_modules')
  await run(copy, `${libraries}/.bin/tsc --typeRoots ${libraries}/@types`)

  await writeFile(
    join(folder, 'hello.json'),
    JSON.stringify({
      data: './hello-data',
      server: { port: 0 },
      plugins: { hello: { from: 'nodekeep-hello-plugin' } },
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the node reads it from the environment
      hello: { linkKey: '${HELLO_LINK_KEY}', greeting: 'Welcome' },
    }),
  )
  await t.rejects(run(folder, `${nodekeep} start --config hello.json`), /HELLO_LINK_KEY/)
  const node = await start(t, folder, `exec ${nodekeep} start --config hello.json`, environment)
  const wallet = '0x52908400098527886E0F7030069857D2E4169EE7'
  const token = (
    await run(folder, `${nodekeep} session create --config hello.json --wallet ${wallet}`, environment)
  ).trim()

  const call = (path: string, init: RequestInit = {}) => fetch(new URL(path, node.url), init)
  t.strictSame(await (await call('/api/hello')).json(), { text: 'Welcome, stranger!' })
  const card = { to: 'Grace', text: 'Happy birthday!' }
  const post = (headers: Record<string, string>) =>
    call('/api/hello/cards', {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(card),
    })
  t.equal((await post({})).status, 401)
  const sent = await post({ authorization: `Bearer ${token}` })
  t.equal(sent.status, 201)
  const { path } = (await sent.json()) as { path: string }
  t.match(await (await call(path)).json(), card)
  t.match(await (await call('/health')).json(), { status: 'ok' })
  t.equal(await node.stop(), 0)
})
