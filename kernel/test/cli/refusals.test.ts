import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { test } from 'tap'
import { createTestNode } from '../../src/testing/create-test-node.ts'
import { commandFolder, isRefusal } from './fixtures/nodekeep.ts'
import { startedNode } from './fixtures/started-node.ts'

test('a node that cannot start says in one line what to do', async (t) => {
  const folder = await commandFolder(t)
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  t.teardown(() => taken.close())
  const { port } = taken.address() as { port: number }
  const at = (name: string) => join(folder.path, name)
  await writeFile(at('file'), '')
  await mkdir(at('foreign'))
  await writeFile(join(at('foreign'), 'state.sqlite'), 'this is no database')
  await writeFile(at('wrong.json'), '{ "server": { "port": "many" } }')

  const inUse = new RegExp(`Port ${port} of 127\\.0\\.0\\.1 is in use.*--port`)
  const starts: readonly (readonly [data: string, environment: Record<string, string>, RegExp])[] = [
    ['two', { NODEKEEP_SERVER__HOST: '203.0.113.5' }, /no address "203\.0\.113\.5".*--host/],
    ['file', {}, /The data folder .*file cannot be made .*--data/],
    ['file/within', {}, /cannot be made .*--data/],
    ['/proc/nodekeep', {}, /The data folder \/proc\/nodekeep cannot be written/],
    ['foreign', {}, /state\.sqlite is damaged or is not a database/],
  ]
  for (const [data, environment, message] of starts) {
    const dataFolder = resolve(folder.path, data)
    await t.rejects(createTestNode({ dataFolder, environment }), { message }, data)
  }
  for (const [file, message] of [
    ['wrong.json', /server\.port \(wrong\.json:1\) must be a whole number/],
    ['missing.json', /missing\.json does not exist/],
  ] as const) {
    const outcome = await folder.run('config', 'print', '--config', file)
    t.ok(isRefusal(outcome), file)
    t.match(outcome.stderr, message, file)
  }
  // `start` prints each of them like these, without a stack trace.
  const refused = await folder.run('start', '--port', `${port}`, '--data', 'one')
  t.ok(isRefusal(refused), `${refused.stdout}${refused.stderr}`)
  t.match(refused.stderr, inUse)
  t.equal(refused.stderr.trim().split('\n').length, 1, 'no plugin has run')
  t.notOk(existsSync(at('one')), 'nothing was made')
  const verbose = await folder.run('start', '--config', 'wrong.json', '--verbose')
  t.match(verbose, { code: 1, stderr: /must be a whole number[\s\S]*\n {4}at / })
})

test('only a start creates a data folder, and other commands report a missing one', async (t) => {
  const folder = await commandFolder(t, { data: './mistyped' })
  const missing = join(folder.path, 'mistyped')
  const commands = ['user list', 'user disable ada', 'session create', 'token list', 'token revoke x']
  for (const outcome of await Promise.all(commands.map((line) => folder.run(...line.split(' '))))) {
    t.ok(isRefusal(outcome), outcome.stderr)
    t.match(outcome.stderr, `${missing} contains no data of a node. Start the node once`)
  }
  for (const line of ['config check', 'config print', 'plugins list']) {
    t.equal((await folder.run(...line.split(' '))).code, 0, line)
  }
  t.same(await readdir(folder.path), ['nodekeep.json'])
})

test('a second node on the same data folder is refused, and the first one continues', async (t) => {
  const folder = await commandFolder(t)
  const first = await startedNode(t, { cwd: folder.path, args: ['--port', '0'] })
  await t.rejects(createTestNode({ dataFolder: folder.data }), { message: /data/ })
  const again = await folder.run('start', '--port', new URL(first.url).port)
  t.match(
    again.stderr,
    /Another node \(process \d+, .* already uses .* --data/,
    'although its port is in use, too',
  )
  t.equal((await fetch(new URL('/health', first.url))).status, 200)
  t.same(await first.end('SIGKILL'), { code: null, signal: 'SIGKILL' })
  const next = await createTestNode({ dataFolder: folder.data })
  await next.stop()
  t.pass('a killed node leaves no lock')
})
