// In a process of its own: its commands leave listeners for faults of plugins, which end with their process.
import { once } from 'node:events'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import tap, { test } from 'tap'
import { commandFolder, isRefusal } from './fixtures/nodekeep.ts'
import { startedNode } from './fixtures/started-node.ts'

// It starts twenty processes.
tap.setTimeout(120_000)

test('a node that cannot start prints one line without a stack trace', async (t) => {
  const folder = await commandFolder(t)
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  t.teardown(() => taken.close())
  const { port } = taken.address() as { port: number }
  await writeFile(join(folder.path, 'file'), '')
  await mkdir(join(folder.path, 'foreign'))
  await writeFile(join(folder.path, 'foreign', 'state.sqlite'), 'this is no database')
  await writeFile(join(folder.path, 'wrong.json'), '{ "server": { "port": "many" } }')

  const refusals: readonly (readonly [string, RegExp])[] = [
    [`--port ${port} --data one`, new RegExp(`Port ${port} of 127\\.0\\.0\\.1 is in use.*--port`)],
    ['--port 0 --host 203.0.113.5 --data two', /no address "203\.0\.113\.5".*--host/],
    ['--port 0 --data file', /The data folder .*file cannot be made .*--data/],
    ['--port 0 --data file/within', /cannot be made .*--data/],
    ['--port 0 --data /proc/nodekeep', /The data folder \/proc\/nodekeep cannot be written/],
    ['--port 0 --data foreign', /state\.sqlite is damaged or is not a database/],
    ['--config wrong.json', /server\.port \(wrong\.json:1\) must be a whole number/],
    ['--config missing.json', /missing\.json does not exist/],
  ]
  // One after the other: all at once, their starts take so long on a busy machine that they log a standstill.
  for (const [line, expected] of refusals) {
    const outcome = await folder.run('start', ...line.split(' '))
    t.ok(isRefusal(outcome), `${line}: one line, code 1: ${outcome.stdout}${outcome.stderr}`)
    t.match(outcome.stderr, expected, line)
  }
  const verbose = await folder.run('start', '--port', `${port}`, '--verbose')
  t.match(verbose, { code: 1, stderr: /is in use[\s\S]*\n {4}at [\s\S]*caused by .*EADDRINUSE/ })
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
  const second = await folder.run('start', '--port', '0')
  t.ok(isRefusal(second), second.stderr)
  t.match(second.stderr, /data/)
  t.equal((await fetch(new URL('/health', first.url))).status, 200)
  t.equal((await first.end('SIGTERM')).code, 0)

  const third = await startedNode(t, { cwd: folder.path, args: ['--port', '0'] })
  t.same(await third.end('SIGKILL'), { code: null, signal: 'SIGKILL' })
  const fourth = await startedNode(t, { cwd: folder.path, args: ['--port', '0'] })
  t.equal((await fourth.end('SIGTERM')).code, 0, 'a killed node leaves no lock')
})
