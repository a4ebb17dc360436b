import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createTestNode, runCommand, type TestNode, type TestUser } from '@nodekeep/kernel/testing'
import { test } from 'tap'

const repository = fileURLToPath(new URL('../..', import.meta.url))
const names = ['files', 'storage-local', 'storage-memory', 'backup']

test('a moment that another program has stored is put back, and restored as a backup is', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'nodekeep-stored-'))
  let node: TestNode | undefined
  t.teardown(async () => {
    await node?.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  const config = { storage: { mounts: { '/memory': 'memory' } }, backup: { drill: false } }
  const from = names.map((name) => [name, { from: join(repository, 'plugins', name) }])
  writeFileSync(
    join(folder, 'nodekeep.json'),
    JSON.stringify({ ...config, plugins: Object.fromEntries(from) }),
  )
  const run = async (...args: string[]) => {
    const env = { PATH: process.env.PATH }
    const { code, stdout, stderr } = await runCommand(['backup', ...args], { cwd: folder, env })
    return { code, text: stdout + stderr }
  }
  const start = async (data: string): Promise<TestUser> => {
    await node?.stop()
    const plugins = Object.fromEntries(names.map((name) => [name, true]))
    const dataFolder = join(folder, data)
    node = await createTestNode({ dataFolder, folder: repository, config: { ...config, plugins } })
    return node.signIn('owner')
  }
  const stat = async (user: TestUser) => (await user.fetch('/stat?path=/a')).json()

  const owner = await start('first')
  const headers = { 'x-oc-mtime': '1500000000' }
  await owner.fetch('/write?path=/a', { method: 'PUT', body: 'first', headers })
  await owner.fetch('/write?path=/a', { method: 'PUT', body: 'on the disk', headers })
  await owner.fetch('/write?path=/memory/b', { method: 'PUT', body: 'in memory' })
  const before = await stat(owner)
  // Any program that keeps files and their sizes will do.
  const stored = join(folder, 'stored')
  t.match(await run('moment', '--data', join(folder, 'first'), '--', 'cp', '-r', '{}', stored), { code: 0 })
  await node?.stop()

  const second = ['--data', join(folder, 'second'), '--yes']
  t.match(await run('verify', stored), { code: 0, text: /The backup is whole/ })
  const restored = await run('restore', stored, ...second)
  t.match(restored, { code: 0, text: new RegExp(`users that come back +${owner.user.username}`) })
  const again = await start('second')
  t.equal(await (await again.fetch('/read?path=/a')).text(), 'on the disk')
  t.strictSame(await stat(again), before, 'with its dates')
  let answer = await again.fetch('/read?path=/memory/b')
  while (answer.status === 503) {
    await delay(20)
    answer = await again.fetch('/read?path=/memory/b')
  }
  t.equal(await answer.text(), 'in memory')
  await node?.stop()

  truncateSync(join(stored, 'files/local', owner.user.uuid, 'a'), 3)
  const first = `"files/local/${owner.user.uuid}/a"`
  t.match(await run('restore', stored, ...second), {
    code: 1,
    text: new RegExp(`stored differs from its manifest: the first difference is ${first}`),
  })
})
