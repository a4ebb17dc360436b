import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { StorageBackend } from '@nodekeep/plugin-sdk'
import t from 'tap'
import { openLocalBackend } from '../src/open-local-backend.ts'
import { chunks, temporaryFolder } from './fixtures/storage-folder.ts'

const attempts: Record<string, (backend: StorageBackend) => Promise<unknown>> = {
  'a listing of the root': (backend) => Array.fromAsync(backend.list('/')),
  'a listing': (backend) => Array.fromAsync(backend.list('/user')),
  'a stat': (backend) => backend.stat('/user/file'),
  'a read': (backend) => backend.read('/user/file'),
  'a write': (backend) => backend.write('/user/file', chunks('x')),
  'a write into new folders': (backend) => backend.write('/new/folder/file', chunks('x')),
  'a large write': (backend) => backend.write('/user/file', chunks(Buffer.alloc(3_000_000))),
  'a new folder': (backend) => backend.makeDirectory('/new'),
  'a removal': (backend) => backend.remove('/user/file'),
  'a move': async (backend) => backend.move?.('/user/file', '/user/moved'),
}

t.test('a root that was removed while the node runs is unavailable, not empty', async (t) => {
  for (const replaced of [false, true]) {
    const root = temporaryFolder(t)
    const backend = await openLocalBackend({ root })
    t.teardown(() => backend.close())
    await backend.write('/user/file', chunks('x'))
    await backend.read('/user/file')
    rmSync(root, { recursive: true })
    if (replaced) mkdirSync(root)
    for (const [name, attempt] of Object.entries(attempts))
      await t.rejects(attempt(backend), { code: 'SERVICE_UNAVAILABLE' }, name)
    await t.rejects(backend.probe(new AbortController().signal), { code: 'SERVICE_UNAVAILABLE' })
  }
})

t.test('a file that is missing in an existing root is not found, even if the root was moved', async (t) => {
  const base = temporaryFolder(t)
  const backend = await openLocalBackend({ root: join(base, 'root') })
  t.teardown(() => backend.close())
  await backend.makeDirectory('/user')
  renameSync(join(base, 'root'), join(base, 'moved'))
  await t.rejects(backend.stat('/user/file'), { code: 'NOT_FOUND' })
  t.strictSame(await Array.fromAsync(backend.list('/user')), [])
})

t.test('the error for a root that cannot be used names the root', async (t) => {
  const base = temporaryFolder(t)
  writeFileSync(join(base, 'file'), 'x')
  for (const name of ['file', 'file/below']) {
    const root = join(base, name)
    const message = `The storage folder ${root} cannot be used. A file is in its place.`
    await t.rejects(openLocalBackend({ root }), { code: 'CONFLICT', message }, name)
  }
})
