import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t, { test } from 'tap'
import { root, startProgram } from '../run/command.ts'
import { startNodeProcess } from './fixtures/node-process.ts'
import { proofOf, wallet } from './fixtures/trusting-login.ts'

// The tests run concurrently, because they mostly wait.
t.jobs = 2

/** Runs `nodekeep` on the data of a running node. Resolves to its standard output. */
async function nodekeep(data: string, ...args: string[]): Promise<string> {
  const cli = join(root, 'kernel/bin/nodekeep.js')
  const all = ['--conditions=nodekeep-source', cli, ...args, '--data', data]
  const { XDG_CACHE_HOME } = process.env
  const env = { NODEKEEP_AUTH__ADMISSION: 'open', XDG_CACHE_HOME }
  const program = startProgram(process.execPath, all, { cwd: tmpdir(), env })
  const [stdout, [code]] = await Promise.all([
    Array.fromAsync(program.stdout).then((parts) => parts.join('')),
    once(program, 'close'),
  ])
  if (code !== 0) throw new Error(`nodekeep ${args.join(' ')} ended with ${code}.`)
  return stdout
}

test('a running node applies the changes of another process', async (t) => {
  const data = await mkdtemp(join(tmpdir(), 'nodekeep-two-'))
  t.teardown(() => rm(data, { recursive: true, force: true }))
  const node = await startNodeProcess(data)
  t.teardown(() => node.stop())
  const status = async (token: string, path: string) => {
    const headers = { authorization: `Bearer ${token}` }
    return (await fetch(new URL(path, node.url), { headers })).status
  }
  const signedIn = await fetch(new URL('/auth/test', node.url), proofOf(wallet(1)))
  const { sessionToken, user } = (await signedIn.json()) as { sessionToken: string; user: { uuid: string } }

  const made = await nodekeep(data, 'token', 'create', '-n', 'x', '-s', 'notes:read', '--user', user.uuid)
  const apiToken = made.trim()
  t.equal(await status(apiToken, '/notes'), 200, 'the token is valid at once')
  const session = (await nodekeep(data, 'session', 'create', '--user', user.uuid)).trim()
  t.equal(await status(session, '/api/account/sessions'), 200)

  await nodekeep(data, 'user', 'disable', user.uuid)
  const since = performance.now()
  const tokens = [
    [apiToken, '/notes'],
    [session, '/api/account/sessions'],
    [sessionToken, '/api/account/sessions'],
  ] as const
  for (const [token, path] of tokens) {
    while ((await status(token, path)) === 200) {
      if (performance.now() - since > 5000) break
      await delay(100)
    }
    t.equal(await status(token, path), 401, 'the token ends after at most five seconds')
  }
  t.equal((await fetch(new URL('/auth/test', node.url), proofOf(wallet(1)))).status, 403)
})

test('a second node on the same data folder is refused and does not affect the first', async (t) => {
  const data = await mkdtemp(join(tmpdir(), 'nodekeep-two-'))
  t.teardown(() => rm(data, { recursive: true, force: true }))
  const node = await startNodeProcess(data)
  t.teardown(() => node.stop())
  await t.rejects(startNodeProcess(data), /Another node \(process \d+, since .*\) already uses/)
  t.equal((await fetch(new URL('/auth/test', node.url), proofOf(wallet(1)))).status, 200)
})
