import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'tap'

const root = join(import.meta.dirname, '../../..')

/** Starts a node as `npm start` does, in a folder of its own. */
async function startNode(folder: string) {
  const config = join(folder, 'config.json')
  await writeFile(config, JSON.stringify({ data: './data', plugins: { 'login-siwe': true } }))
  const args = ['runtime.js', 'kernel/bin/nodekeep.js', 'start', '--config', config]
  const env = { ...process.env, PORT: '0', NODEKEEP_LOG__FORMAT: 'pretty' }
  const node = spawn(process.execPath, args, { cwd: root, env })
  const output = await textUntil(node, /Stop it with/)
  return {
    node,
    url: /Address +(\S+)/.exec(output)?.[1] ?? '',
    claimCode: /\b\w{4}-\w{4}-\w{4}\b/.exec(output)?.[0] ?? '',
  }
}

function textUntil(child: ChildProcess, pattern: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    const read = (chunk: Buffer) => {
      text += chunk
      if (pattern.test(text)) resolve(text)
    }
    child.stdout?.on('data', read)
    child.stderr?.on('data', read)
    child.once('exit', (code) => reject(new Error(`It ended with ${code}: ${text}`)))
  })
}

/** Runs the command of the README. */
async function signIn(...args: string[]): Promise<{ code: number; output: string }> {
  const command = ['run', '--silent', 'sign-in', '-w', 'examples/sign-in', '--', ...args]
  const child = spawn('npm', command, { cwd: root, shell: process.platform === 'win32' })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  const [code] = await once(child, 'close')
  return { code, output }
}

test('The example claims a node, signs in and reads its user', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'nodekeep-sign-in-'))
  const { node, url, claimCode } = await startNode(folder)
  t.after(async () => {
    node.kill('SIGTERM')
    if (node.exitCode === null) await once(node, 'exit')
    await rm(folder, { recursive: true, force: true })
  })
  const key = join(folder, 'wallet.key')

  const unclaimed = await signIn('--node', url)
  t.equal(unclaimed.code, 1)
  t.match(unclaimed.output, /^403: .*no owner yet/)

  const claimed = await signIn('--node', url, '--claim', claimCode, '--key', key)
  t.equal(claimed.code, 0, claimed.output)
  t.match(claimed.output, /"authenticated": true/)
  t.equal((await stat(key)).mode & 0o777, 0o600)

  const token = /TOKEN=(\S+)/.exec(claimed.output)?.[1]
  const whoami = await fetch(new URL('/whoami', url), { headers: { authorization: `Bearer ${token}` } })
  t.match(await whoami.json(), { user: { authenticated: true } })

  const again = await signIn('--node', url, '--key', key)
  t.equal(again.code, 0, 'The owner needs no code.')
  t.match((await signIn('--node', url)).output, /^403: /, 'Another wallet is not admitted.')
})

test('The example prints the reason of a failure', async (t) => {
  t.match(await signIn('--node', 'http://127.0.0.1:1'), { code: 1, output: /^No node answers at/ })
  t.match(await signIn('--help'), { code: 0, output: /--claim CODE/ })
})
