import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'tap'
import { rawConnection, rawRequest } from '../http/fixtures/raw-connection.ts'
import { until } from '../state/fixtures/until.ts'
import { commandFolder } from './fixtures/nodekeep.ts'
import { startedNode } from './fixtures/started-node.ts'

test('a node prints its address, its plugins and the next steps, and stops cleanly', async (t) => {
  const folder = await commandFolder(t)
  const node = await startedNode(t, { cwd: folder.path, args: ['start', '--port', '0'] })
  const banner = node.stderr()
  t.match(banner, /Nodekeep \d+\.\d+\.\d+ is running\./)
  t.ok(banner.includes(`Address  ${node.url.origin}\n`))
  t.ok(banner.includes(`Data     ${folder.data}\n`))
  t.match(banner, /Plugins {2}none/)
  t.match(banner, /This node has no owner yet, and no login provider is loaded[\s\S]*"login-siwe": true/)
  t.notMatch(banner, 'claim code', 'the claim code is useless without a login provider')
  t.match(banner, /nodekeep session create --wallet/)
  t.notMatch(banner, /[ \t]$/m, 'no line ends with a space')
  for (const line of node.stdout().trim().split('\n'))
    t.match(JSON.parse(line), { level: String, time: String })

  t.equal((await fetch(new URL('/health', node.url))).status, 200)
  t.same(await node.end('SIGTERM'), { code: 0, signal: null })
  t.match(node.stdout(), /"msg":"The node is stopping\."/, 'the log announces the stop')
  t.equal(node.stderr(), banner, 'a node that stops prints nothing more')
})

test('a node with a login provider and without an owner shows the claim code', async (t) => {
  const folder = await commandFolder(t, {
    plugins: {
      'login-test': { from: './login-test' },
      off: { from: './login-test', enabled: false },
      gone: { from: './gone', required: false },
    },
  })
  await addLoginPlugin(folder.path)
  const node = await startedNode(t, { cwd: folder.path, args: ['--port', '0'] })
  const banner = node.stderr()
  t.match(banner, /Plugins {2}1 active, 1 disabled\n {11}gone: failed \(.+\)\n\n/)
  t.match(banner, /This node has no owner yet.*claim code/)
  t.match(banner, /nodekeep session create --wallet/)
  const code = /^ {15}(\S+)$/m.exec(banner)?.[1] ?? ''
  t.ok(code.length > 8)
  t.notOk(node.stdout().includes(code), 'the log does not contain the claim code')
  t.notMatch(banner, /[ \t]$/m, 'no line ends with a space')
})

/** Adds a plugin with a login provider to the folder. */
async function addLoginPlugin(path: string): Promise<void> {
  const folder = join(path, 'login-test')
  await mkdir(folder)
  const nodekeep = { id: 'login-test', sdk: '^0.1.0', entry: './index.ts' }
  const exports = { '.': './index.ts', './package.json': './package.json' }
  const manifest = { name: 'login-test', version: '1.0.0', type: 'module', exports, nodekeep }
  await writeFile(join(folder, 'package.json'), JSON.stringify(manifest))
  const sdk = JSON.stringify(import.meta.resolve('@nodekeep/plugin-sdk'))
  await writeFile(
    join(folder, 'index.ts'),
    `import { definePlugin, LoginProviders } from ${sdk}
export default definePlugin({ id: 'login-test', contributes: { logins: LoginProviders }, setup() {} })`,
  )
}

test('`npm start --` takes the same flags', async (t) => {
  const folder = await commandFolder(t)
  const args = ['--port', '0', '--config', join(folder.path, 'nodekeep.json'), '--data', folder.data]
  const node = await startedNode(t, { cwd: folder.path, args, npm: true })
  t.match(node.stderr(), /npm start -- session create/, 'the banner names the command that works here')
  t.equal((await fetch(new URL('/health', node.url))).status, 200)
  await node.end('SIGINT')
})

test('flags override the environment, which overrides the file, and Ctrl+C stops a node without a command', async (t) => {
  const folder = await commandFolder(t, { server: { port: 1 }, data: './from-file', log: { level: 'debug' } })
  await writeFile(join(folder.path, 'other.json'), '{ "server": { "drainSeconds": 3 } }')
  const env = {
    PORT: '0',
    NODEKEEP_DATA: join(folder.path, 'from-environment'),
    NODEKEEP_CONFIG: 'other.json',
    NODEKEEP_LOG__LEVEL: 'warn',
  }
  const args = ['start', '--data', 'from-flag', '--log-level', 'info']
  const node = await startedNode(t, { cwd: folder.path, args, env })
  t.ok(node.stderr().includes(join(folder.path, 'from-flag')))
  t.not(node.url.port, '1')
  const visible = (await readdir(folder.path)).filter((name) => name !== '.cache')
  // The folder of a flag is relative to the working directory.
  t.same(visible.sort(), ['from-flag', 'nodekeep.json', 'other.json'])
  t.equal((await node.end('SIGTERM')).code, 0)

  const fromEnvironment = await startedNode(t, {
    cwd: folder.path,
    env: { ...env, NODEKEEP_LOG__LEVEL: 'info' },
  })
  t.ok(fromEnvironment.stderr().includes(env.NODEKEEP_DATA))
  t.same(await fromEnvironment.end('SIGINT'), { code: 0, signal: null })
})

test('a node answers its open requests before it stops', async (t) => {
  const folder = await commandFolder(t)
  const node = await startedNode(t, { cwd: folder.path, args: ['--port', '0'] })
  const connection = rawConnection(node.url)
  const headers = { 'content-type': 'application/json', 'content-length': '2', expect: '100-continue' }
  connection.send(rawRequest('POST', '/auth/any', headers))
  t.equal((await connection.answer()).status, 100)
  node.child.kill('SIGTERM')
  const refused = () =>
    fetch(new URL('/health', node.url)).then(
      () => false,
      () => true,
    )
  await until(refused)
  connection.send('{}')
  const answer = await connection.answer()
  t.equal(answer.status, 400)
  t.match(JSON.parse(answer.body), { code: 'VALIDATION_ERROR' })
  t.same(await node.end('SIGCONT'), { code: 0, signal: null })
})

test('a node gives the memory back that only its start needed', async (t) => {
  const folder = await commandFolder(t)
  const args = ['--port', '0']
  const node = await startedNode(t, { cwd: folder.path, args, nodeOptions: ['--trace-gc'] })
  // V8's line about a collection that a program asks for.
  const collection = /Mark-Compact \(reduce\) .* testing;/
  await until(() => collection.test(node.stdout()))
  t.equal((await fetch(new URL('/health', node.url))).status, 200)
  t.same(await node.end('SIGTERM'), { code: 0, signal: null })
})
