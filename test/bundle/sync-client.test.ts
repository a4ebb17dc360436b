import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { isBuiltin } from 'node:module'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import manifest from '@nodekeep/file-sync/package.json' with { type: 'json' }
import { createTestNode } from '@nodekeep/kernel/testing'
import { Wallet } from 'ethers'
import t, { type Test } from 'tap'
import { root } from '../run/command.ts'
import { bundleSyncClient, syncClientFolder } from './sync-client.ts'

t.test('the committed client is what `npm run bundle` makes', async (t) => {
  const made = await bundleSyncClient()
  t.same(await readdir(syncClientFolder), [...made.keys()], 'run `npm run bundle`')
  for (const [name, content] of made) {
    const needed = Buffer.from(content)
      .toString()
      .matchAll(/\brequire\("([^"]+)"\)/g)
    t.same(
      [...needed].map(([, module = '']) => module).filter((module) => !isBuiltin(module)),
      [],
      'Node has all',
    )
    t.ok((await readFile(join(syncClientFolder, name))).equals(content), `${name}: run \`npm run bundle\``)
  }
})

t.test('a machine with Node alone syncs with the file that the node offers', async (t) => {
  const node = await createTestNode({
    folder: root,
    config: { plugins: { files: true, 'storage-local': true, 'file-sync': true, 'login-siwe': true } },
  })
  t.teardown(() => node.stop())
  const user = await node.signIn('owner')
  const { home, run, shell, follow } = await emptyMachine(t)
  const { path, name, sha256 } = (await (await user.fetch('/api/sync/client')).json()) as Record<
    string,
    string
  >
  const bytes = await (await node.fetch(path ?? '')).bytes()
  t.equal(createHash('sha256').update(bytes).digest('hex'), sha256)
  const program = join(home, name ?? '')
  await writeFile(program, bytes)

  t.match(await run(program, '--help'), { code: 0, out: /^Usage: nodekeep-sync / })
  t.match(await run(program, '--version'), { out: `${manifest.version}\n` })
  const folder = join(home, 'Cloud')
  await mkdir(folder)
  await writeFile(join(folder, 'mine.txt'), 'from the machine')
  await user.fetch('/write?path=/yours.txt', { method: 'PUT', body: 'from the node' })
  const sync = [folder, '--once', '--node', node.url.origin]
  const refused = await run(program, ...sync)
  const advice = /Log in first: (.*)/.exec(refused.err)?.[1] ?? ''
  const scopes = ['files:read', 'files:write']
  const made = await user.fetch('/api/account/tokens', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'laptop', scopes }),
  })
  const { token } = (await made.json()) as { token: string }
  const loggedIn = await shell(advice, `${token}\n`)
  t.match(loggedIn, { code: 0, err: '' }, 'the advice is a command that runs here')
  t.match(await run(program, ...sync), { code: 0, err: '' })
  t.equal(await readFile(join(folder, 'yours.txt'), 'utf8'), 'from the node')
  t.equal(await (await user.fetch('/read?path=/mine.txt')).text(), 'from the machine')
  t.match(await run(program, 'status'), { code: 0, out: /2 synced/ })

  const live = follow(program, folder, '--node', node.url.origin)
  for (const file of ['first.txt', 'second.txt']) {
    await writeFile(join(folder, file), 'live')
    while ((await user.fetch(`/stat?path=/${file}`)).status !== 200)
      await Promise.race([delay(50), live.ended])
  }
  t.equal((await live.stop()).err, '', 'the thread that watches runs')

  const key = join(home, 'wallet.key')
  await writeFile(key, Wallet.createRandom().privateKey, { mode: 0o600 })
  t.match(await run(program, 'login', '--node', node.url.origin, '--key', key), { code: 0, err: '' })

  const readme = await readFile(join(root, 'plugins/file-sync/README.md'), 'utf8')
  const install = /^install -D[^`]+/m.exec(readme)?.[0] ?? ''
  // Again, as after an update of the node.
  for (const commands of [install, install]) t.match(await shell(commands), { code: 0, err: '' })
  const withPath = (command: string) => shell(`PATH="$HOME/.local/bin:$PATH"; ${command}`)
  t.match(await withPath('nodekeep-sync pause Cloud'), { code: 0, err: '' })
  const { out } = await withPath('nodekeep-sync status')
  const resume = /paused\. To go on, run: (nodekeep-sync .*)/.exec(out)?.[1] ?? ''
  t.match(await withPath(resume), { code: 0, err: '' })
  t.notMatch((await withPath('nodekeep-sync status')).out, /paused/)
})

t.test('a Node that is too old for the client is told which one it needs', async (t) => {
  const { home, run } = await emptyMachine(t)
  const older = join(home, 'older.cjs')
  await writeFile(older, "Object.defineProperty(process.versions, 'node', { value: '18.20.0' })")
  const program = join(syncClientFolder, 'nodekeep-sync.cjs')
  // Node 18 has no SQLite.
  const options = ['--no-experimental-sqlite', '--require', older]
  t.match(await run(...options, program, '--help'), { code: 1, out: '', err: /needs Node 24 or newer/ })
})

/** A home outside of the repository, where no program finds libraries, and JavaScript without a type of its own is a module. */
async function emptyMachine(t: Test) {
  const home = await realpath(await mkdtemp(join(tmpdir(), "nodekeep's sync client-")))
  t.teardown(() => rm(home, { recursive: true, force: true }))
  await writeFile(join(home, 'package.json'), '{ "type": "module" }')
  const env = { HOME: home, PATH: [dirname(process.execPath), process.env.PATH].join(delimiter) }
  const begin = (command: string, args: readonly string[], input: string) => {
    const child = spawn(command, args, { cwd: home, env })
    // A command that ends early may not read its input.
    child.stdin.on('error', () => {}).end(input)
    const ended = Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]).then(
      ([out, err]) => ({ code: child.exitCode, out, err }),
    )
    return { child, ended }
  }
  const start = (command: string, args: readonly string[], input: string) => begin(command, args, input).ended
  return {
    home,
    run: (...args: readonly string[]) => start(process.execPath, args, ''),
    /** Runs a command until it is stopped. */
    follow(...args: readonly string[]) {
      const { child, ended } = begin(process.execPath, args, '')
      const failed = ended.then(({ err }) => {
        throw new Error(err)
      })
      failed.catch(() => {})
      t.teardown(() => child.kill('SIGKILL'))
      const stop = () => {
        child.kill('SIGTERM')
        return ended
      }
      return { ended: failed, stop }
    },
    shell: (commands: string, input = '') => start('sh', ['-c', commands], input),
  }
}
