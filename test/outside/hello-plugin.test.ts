import { cp, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'tap'
import { root } from '../run/command.ts'
import { packOutside, tarball } from './packages.ts'
import { run, start } from './terminal.ts'

const install = 'npm install --prefer-offline --no-audit --no-fund'
const environment = { HELLO_LINK_KEY: 'a key of at least 32 characters, for tests' }

test('the example is built, tested, packed and used outside the repository', async (t) => {
  const outside = await packOutside(t)
  const sdk = tarball(outside, '@nodekeep/plugin-sdk')
  const kernel = tarball(outside, '@nodekeep/kernel')

  const author = join(outside.folder, 'author')
  for (const part of ['package.json', 'tsconfig.json', 'README.md', 'src', 'test']) {
    await cp(join(root, 'examples/hello-plugin', part), join(author, part), { recursive: true })
  }
  await run(author, `${install} --save-dev ${sdk} ${kernel}`)
  await run(author, 'npm test')
  await run(author, 'npm run build')
  await run(author, `npm pack --pack-destination ${outside.folder}`)

  const place = join(outside.folder, 'place')
  await mkdir(place)
  await writeFile(join(place, 'package.json'), '{ "private": true }')
  await writeFile(
    join(place, 'nodekeep.json'),
    JSON.stringify({
      server: { port: 0 },
      plugins: { hello: { from: 'nodekeep-hello-plugin' } },
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the node reads it from the environment
      hello: { linkKey: '${HELLO_LINK_KEY}', greeting: 'Welcome' },
    }),
  )
  await run(place, `${install} ${kernel} ${sdk} ../nodekeep-hello-plugin-0.1.0.tgz`)
  const listed = JSON.parse(await run(place, 'npx nodekeep plugins list --json', environment))
  t.match(listed, [{ id: 'hello', package: 'nodekeep-hello-plugin', contributes: ['health-checks@1'] }])
  t.notMatch(await run(place, 'npx nodekeep config print', environment), environment.HELLO_LINK_KEY)
  await t.rejects(run(place, 'npx nodekeep start'), /HELLO_LINK_KEY/)

  const node = await start(t, place, 'exec node_modules/.bin/nodekeep start', environment)
  const call = (path: string, init?: RequestInit) => fetch(new URL(path, node.url), init)
  const greeting = await call('/api/hello')
  t.strictSame(await greeting.json(), { text: 'Welcome, stranger!' })
  const refused = await call('/api/hello/cards', { method: 'POST' })
  t.equal(refused.status, 401)
  t.match(await refused.json(), { error: true, code: 'UNAUTHORIZED' })
  t.equal((await call('/api/hello/cards/none.none')).status, 404)
  t.match(await (await call('/health')).json(), { status: 'ok' })
  t.equal(await node.stop(), 0)
})
