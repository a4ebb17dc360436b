// In a process of its own: it starts commands, which take their environment from it.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { needsPrograms } from '@nodekeep/kernel/testing'
import { Wallet } from 'ethers'
import t, { type Test } from 'tap'
import { createSyncNode } from '../../fixtures/sync-node.ts'
import { temporaryFolder } from '../fixtures/synced-folders.ts'

const command = fileURLToPath(new URL('../../../bin/nodekeep-sync.js', import.meta.url))
const nodekeep = fileURLToPath(new URL('../../../../../kernel/bin/nodekeep.js', import.meta.url))
/** Without it, each command would start another process, which has it. */
const fromSources = '--conditions=nodekeep-source'
const { PATH, NODE_COMPILE_CACHE, XDG_CACHE_HOME } = process.env
const node = await createSyncNode({ config: { plugins: { 'login-siwe': true, 'stored-check': true } } })
t.teardown(() => node.stop())

t.test('a folder is synced once, with a token from the standard input', async (t) => {
  const user = await node.signIn()
  const home = await temporaryFolder(t)
  const folder = join(home, 'Cloud')
  await mkdir(folder)
  await writeFile(join(folder, 'a.txt'), 'hello')
  t.match(await run(home, [folder, '--once', '--node', node.url.href]), { code: 1, err: /Log in first/ })
  t.match(await run(home, ['login', '--node', node.url.href], `${user.token}\n`), {
    code: 0,
    out: /is stored/,
  })
  t.equal((await stat(join(home, 'nodekeep-sync/settings.json'))).mode & 0o777, 0o600)
  t.match(await run(home, [folder, '--once']), { code: 1, err: /--node/ })
  t.match(await run(home, [folder, '--once', '--node', node.url.href]), { code: 0, out: /upload \/a\.txt/ })
  t.equal(await (await user.fetch('/read?path=/a.txt')).text(), 'hello')
  const status = await run(home, ['status', '--json'])
  t.match(JSON.parse(status.out), [{ folder, synced: 1, isRunning: false, problems: {} }])
})

t.test('a folder is checked by its contents, and nothing is uploaded or written into it', async (t) => {
  const user = await node.signIn()
  const home = await temporaryFolder(t)
  const card = join(home, 'card')
  await mkdir(join(card, 'DCIM'), { recursive: true })
  for (const name of ['a.jpg', 'copy of a.jpg', '.DS_Store', 'DCIM/b.jpg', 'DCIM/c.jpg'])
    await writeFile(join(card, name), name.includes('a.jpg') ? 'photo a' : `photo ${name}`)
  await writeFile(join(card, '.nodekeepignore'), 'Thumbs.db\n')
  await writeFile(join(card, 'DCIM/Thumbs.db'), 'pictures')
  const put = (path: string, body: string) => user.fetch(`/write?path=${path}`, { method: 'PUT', body })
  await put('/photos/renamed.jpg', 'photo a')
  await put('/photos/b.jpg', 'photo')
  const env = { NODEKEEP_SYNC_TOKEN: user.token }
  const check = (...args: string[]) => run(home, ['check', card, '--node', node.url.href, ...args], '', env)
  const before = await readdir(card, { recursive: true })
  const { code, out } = await check()
  t.equal(code, 1)
  t.match(out, '/DCIM/b.jpg: Only a part of it may be here: /photos/b.jpg is shorter.\n')
  t.match(out, '/DCIM/c.jpg: It is not on the node.\n')
  t.match(out, '/DCIM/Thumbs.db: The rules of .nodekeepignore leave it out, so it was not checked.\n')
  t.match(
    out,
    '2 of 6 are stored, but in no backup that was tried out. These 4 are not stored. 1 was not checked.\n',
  )
  t.notMatch(out, '/a.jpg')
  t.strictSame(await readdir(card, { recursive: true }), before)
  const { entries } = (await (await user.fetch('/api/files/list?path=/')).json()) as { entries: object[] }
  t.equal(entries.length, 1)

  for (const name of ['.DS_Store', '.nodekeepignore', 'DCIM/b.jpg', 'DCIM/c.jpg'])
    await put(`/photos/${name}`, await readFile(join(card, name), 'utf8'))
  const all = await check('--json')
  t.equal(all.code, 0)
  const lines = all.out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  t.match(
    lines.find(({ path }) => path === '/a.jpg'),
    { state: 'stored', at: '/photos/renamed.jpg' },
  )
  t.match(lines.at(-1), { files: 6, stored: 6, inBackup: 0, ignored: 1 })

  await symlink('/etc', join(card, 'link'))
  t.match(await check(), { code: 1, out: /\/link: It is neither a file nor a folder\./ })
})

t.test('the exit code tells what was left', async (t) => {
  const user = await node.signIn()
  const home = await temporaryFolder(t)
  const folder = join(home, 'Cloud')
  await mkdir(folder)
  // Files of secrets often end with a line end.
  const env = { NODEKEEP_SYNC_TOKEN: `${user.token}\r\n` }
  const sync = (...args: string[]) => run(home, [folder, '--once', ...args], '', env)
  t.match(await sync('--node', node.url.href), { code: 0, err: '' })
  await writeFile(join(folder, 'a'), 'any')
  await symlink('/etc', join(folder, 'link'))
  t.match(await sync(), { code: 3, out: /upload \/a/, err: /Not synced: \/link: Only files/ })
  const help = await run(home, ['--help'])
  t.match(help.out, /Exit codes with --once/)

  t.match(await sync('--wait', 'any'), { code: 1, err: /--wait a number of seconds/ })
  const wrong = { NODEKEEP_SYNC_TOKEN: 'two words' }
  t.match(await run(home, [folder, '--once'], '', wrong), { code: 1, err: /The token has a space/ })

  const away = join(home, 'away')
  await mkdir(away)
  const url = await freeAddress()
  const down = await run(home, [away, '--once', '--wait', '1', '--node', url], '', env)
  t.match(down, { code: 4, err: /Not finished: The node .* does not answer/ })
})

t.test('a wallet signs in, and the token that is kept may only sync', async (t) => {
  await node.signIn('owner')
  const home = await temporaryFolder(t)
  const key = join(home, 'wallet.key')
  await writeFile(key, Wallet.createRandom().privateKey, { mode: 0o600 })
  t.match(await run(home, ['login', '--node', node.url.href, '--key', key]), { code: 0, err: '' })
  const { tokens } = JSON.parse(await readFile(join(home, 'nodekeep-sync/settings.json'), 'utf8'))
  const headers = { authorization: `Bearer ${tokens[node.url.origin]}` }
  t.equal((await node.fetch('/api/files/list?path=/', { headers })).status, 200)
  t.equal((await node.fetch('/api/account/tokens', { headers })).status, 403)
})

t.test('a wallet becomes the owner of a node with the code that the node prints', async (t) => {
  const home = await temporaryFolder(t)
  const key = join(home, 'wallet.key')
  await writeFile(key, Wallet.createRandom().privateKey, { mode: 0o600 })
  const { url, claimCode } = await startCommand(t, home)
  const login = (...args: string[]) => run(home, ['login', '--node', url, ...args])
  t.match(await login('--claim', claimCode), { code: 1, err: /together with --key/ })
  t.match(await login('--key', key), { code: 1, err: /no owner yet/ })
  t.match(await login('--key', key, '--claim', claimCode), { code: 0, err: '' })
  t.match(await login('--key', key), { code: 0, err: '' }, 'the owner needs no code')
})

t.test('systemd accepts the unit of the README', { skip: needsPrograms('systemd-analyze') }, async (t) => {
  const readme = await readFile(new URL('../../../README.md', import.meta.url), 'utf8')
  const [, unit = ''] = /```ini\n([\s\S]*?)```/.exec(readme) ?? []
  const home = await temporaryFolder(t)
  const file = join(home, 'nodekeep-sync.service')
  // systemd looks for the program on its own path.
  await writeFile(file, unit.replace('ExecStart=node', `ExecStart=${process.execPath}`))
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--user', '--man=no', file], {
    encoding: 'utf8',
    env: { PATH: process.env.PATH, HOME: home, XDG_RUNTIME_DIR: home },
  })
  const findings = stderr.split('\n').filter((line) => line.includes('nodekeep-sync.service'))
  t.same({ status, findings }, { status: 0, findings: [] })
})

t.test('a paused folder is synced after it is resumed', async (t) => {
  const user = await node.signIn()
  const home = await temporaryFolder(t)
  const folder = join(home, 'Cloud')
  await mkdir(folder)
  await run(home, ['login', '--node', node.url.href], user.token)
  await run(home, [folder, '--once', '--node', node.url.href])
  await run(home, ['pause', folder])
  await writeFile(join(folder, 'b.txt'), 'later')
  const running = run(home, [folder, '--once'])
  await run(home, ['resume', folder])
  t.match(await running, { code: 0 })
  t.equal(await (await user.fetch('/read?path=/b.txt')).text(), 'later')
})

/** Starts a node as its command does, because a new node prints its code. */
async function startCommand(t: Test, folder: string) {
  const config = join(folder, 'config.json')
  const plugins = { files: true, 'storage-local': true, 'file-sync': true, 'login-siwe': true }
  await writeFile(config, JSON.stringify({ data: './data', plugins }))
  const child = spawn(process.execPath, [fromSources, nodekeep, 'start', '--config', config], {
    env: { PATH, XDG_CACHE_HOME, PORT: '0', NODEKEEP_LOG__FORMAT: 'pretty' },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  t.teardown(async () => {
    child.kill()
    await once(child, 'close')
  })
  let output = ''
  for await (const chunk of child.stderr.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    output += chunk
    if (/Stop it with/.test(output)) break
  }
  child.stderr.resume()
  return {
    url: /Address +(\S+)/.exec(output)?.[1] ?? '',
    claimCode: /\b\w{4}-\w{4}-\w{4}\b/.exec(output)?.[0] ?? '',
  }
}

/** The address of a node that is down. */
async function freeAddress(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return `http://127.0.0.1:${port}`
}

async function run(home: string, args: readonly string[], input?: string, env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [fromSources, command, ...args], {
    env: { PATH, NODE_COMPILE_CACHE, HOME: home, XDG_CONFIG_HOME: home, ...env },
  })
  // An empty text would be a write of 0 bytes, which fails once the command has ended.
  child.stdin.end(input)
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code: child.exitCode, out, err }
}
