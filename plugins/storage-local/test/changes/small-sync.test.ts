import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { localDisk } from '../../src/disk/disk.ts'
import { openLocalBackend } from '../../src/open-local-backend.ts'
import { chunks, contentsOf, folderInMemory, leftovers } from '../fixtures/storage-folder.ts'

t.test('a write that the disk fails to sync ends after the call that announced it', async (t) => {
  const fdatasync = async () => {
    throw Object.assign(new Error('EIO'), { code: 'EIO', syscall: 'fdatasync' })
  }
  const root = folderInMemory(t)
  const backend = await openLocalBackend({ root, disk: { ...localDisk, fdatasync } })
  t.teardown(() => backend.close())
  await backend.makeDirectory('/user')
  const before = contentsOf(root)
  const events: string[] = []
  const beforeCommit = async () => {
    events.push('called')
    await delay(50)
    events.push('answered')
  }
  const write = backend.write('/user/file', chunks('x'), { beforeCommit })
  await t.rejects(write, { code: 'SERVICE_UNAVAILABLE' })
  events.push('ended')
  t.strictSame(events, ['called', 'answered', 'ended'])
  t.strictSame(contentsOf(root), before)
  t.strictSame(leftovers(root), [])
})
