import { cp, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Test } from 'tap'
import { root } from '../run/command.ts'
import { type Outside, tarball } from './packages.ts'
import { run, start } from './terminal.ts'

const environment = { HELLO_LINK_KEY: 'a key of at least 32 characters, for tests' }
const nodekeep = 'node_modules/.bin/nodekeep'

/** Installs the example beside a node, tests and compiles a copy of it there, and calls it on a node that runs. */
export async function useExample(t: Test, outside: Outside): Promise<void> {
  const folder = join(outside.folder, 'place')
  await mkdir(folder)
  const packages = ['@nodekeep/kernel', '@nodekeep/plugin-sdk', 'nodekeep-hello-plugin']
  const tarballs = packages.map((name) => tarball(outside, name)).join(' ')
  await writeFile(join(folder, 'package.json'), '{ "private": true }')
  await run(folder, `npm install --prefer-offline --no-audit --no-fund ${tarballs}`)

  const copy = join(folder, 'hello-plugin')
  await cp(join(root, 'examples/hello-plugin'), copy, {
    recursive: true,
    filter: (source) => !/[\\/](node_modules|dist)$/.test(source),
  })
  await run(copy, 'npm test')
  const libraries = join(root, 'node_modules')
  await run(copy, `${libraries}/.bin/tsc --typeRoots ${libraries}/@types`)

  await writeFile(
    join(folder, 'nodekeep.json'),
    JSON.stringify({
      server: { port: 0 },
      plugins: { hello: { from: 'nodekeep-hello-plugin' } },
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the node reads it from the environment
      hello: { linkKey: '${HELLO_LINK_KEY}', greeting: 'Welcome' },
    }),
  )
  await t.rejects(run(folder, `${nodekeep} start`), /HELLO_LINK_KEY/)
  const node = await start(t, folder, `exec ${nodekeep} start`, environment)
  const wallet = '0x52908400098527886E0F7030069857D2E4169EE7'
  const token = (await run(folder, `${nodekeep} session create --wallet ${wallet}`, environment)).trim()

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
}
