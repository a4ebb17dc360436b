import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createTestNode } from '@nodekeep/kernel/testing'
import { test } from 'tap'
import { root } from '../run/command.ts'

test('a copy of the data folder of a stopped node has its users, sessions and files', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'nodekeep-copy-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const start = (name: string) =>
    createTestNode({
      folder: root,
      dataFolder: join(folder, name),
      config: { extends: 'nodekeep:minimal' },
    })
  const node = await start('data')
  const { user, token } = await node.signIn('owner')
  const authorization = `Bearer ${token}`
  const written = await node.fetch('/write?path=/note.txt', {
    method: 'PUT',
    headers: { authorization },
    body: 'kept',
  })
  t.equal(written.status, 200)
  await node.stop()
  await promisify(execFile)('cp', ['-a', 'data', 'copy'], { cwd: folder })
  await rm(join(folder, 'data'), { recursive: true })

  const copy = await start('copy')
  t.teardown(() => copy.stop())
  const whoami = await copy.fetch('/whoami', { headers: { authorization } })
  t.match(await whoami.json(), { user: { uuid: user.uuid, authenticated: true } })
  const read = await copy.fetch('/read?path=/note.txt', { headers: { authorization } })
  t.equal(await read.text(), 'kept')
})
