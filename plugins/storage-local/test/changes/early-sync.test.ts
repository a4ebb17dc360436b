import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { localDisk } from '../../src/disk/disk.ts'
import { openLocalBackend } from '../../src/open-local-backend.ts'
import { folderInMemory, leftovers } from '../fixtures/storage-folder.ts'

const piece = Buffer.alloc(1024 * 1024, 'piece')

async function* megabytes(count: number): AsyncIterable<Uint8Array> {
  for (let n = 0; n < count; n += 1) yield piece
}

t.test('a large file is synced while it arrives, and a failure of that fails the write', async (t) => {
  const root = folderInMemory(t)
  let syncs = 0
  let failing = false
  const fdatasync = async (fd: number) => {
    syncs += 1
    // A system tells a failure once; the sync at the end would succeed.
    if (failing && syncs === 1) throw Object.assign(new Error('EIO'), { code: 'EIO', syscall: 'fdatasync' })
    await localDisk.fdatasync(fd)
  }
  const backend = await openLocalBackend({ root, disk: { ...localDisk, fdatasync } })
  t.teardown(() => backend.close())
  await backend.write('/user/small', megabytes(3))
  t.equal(syncs, 1, 'a small one is synced once')
  syncs = 0
  await backend.write('/user/large', megabytes(70))
  t.equal(syncs, 2)
  syncs = 0
  failing = true
  await t.rejects(backend.write('/user/failed', megabytes(70)), { code: 'SERVICE_UNAVAILABLE' })
  t.equal(syncs, 1)
  t.notOk(existsSync(join(root, 'user', 'failed')))
  t.strictSame(leftovers(root), [])
})
