import { readlinkSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Disk, localDisk } from '../../src/disk/disk.ts'
import { openLocalBackend } from '../../src/open-local-backend.ts'
import { chunks, temporaryFolder } from '../fixtures/storage-folder.ts'

/** Opens a backend whose syncs of folders wait for `release`. `log` lists them and the renames, in order. */
async function openHeldBackend(t: Test) {
  const root = temporaryFolder(t)
  const log: string[] = []
  const waiting: (() => void)[] = []
  let holds = false
  const disk: Disk = {
    ...localDisk,
    async rename(from, to) {
      await localDisk.rename(from, to)
      log.push(`rename ${to.split('/').at(-1)}`)
    },
    async fsync(fd) {
      log.push(`sync ${readlinkSync(`/proc/self/fd/${fd}`).slice(root.length)}`)
      if (holds) await new Promise<void>((resolve) => waiting.push(resolve))
      await localDisk.fsync(fd)
    },
  }
  const backend = await openLocalBackend({ root, disk })
  t.teardown(() => backend.close())
  await backend.write('/user/folder/first', chunks('x'))
  await backend.write('/user/folder/second', chunks('x'))
  log.length = 0
  return {
    root,
    backend,
    log,
    hold() {
      holds = true
    },
    release() {
      holds = false
      for (const resolve of waiting.splice(0)) resolve()
    },
    async until(condition: () => boolean) {
      while (!condition()) await new Promise((resolve) => setImmediate(resolve))
    },
  }
}

t.test('a write resolves after its folder was synced, not before', async (t) => {
  const { backend, log, hold, release, until } = await openHeldBackend(t)
  hold()
  let resolved = false
  const writing = backend.write('/user/folder/file', chunks('x')).then(() => {
    resolved = true
  })
  await until(() => log.includes('sync /user/folder'))
  t.strictSame(log, ['rename file', 'sync /user/folder'])
  await new Promise((resolve) => setImmediate(resolve))
  t.equal(resolved, false)
  release()
  await writing
})

t.test(
  'a sync that began before a rename does not count for it, and all waiting renames share the next sync',
  async (t) => {
    const { backend, log, hold, release, until } = await openHeldBackend(t)
    hold()
    const early = backend.write('/user/folder/early', chunks('x'))
    await until(() => log.includes('sync /user/folder'))
    const late = Array.from({ length: 20 }, (_, index) =>
      backend.write(`/user/folder/late-${index}`, chunks('x')),
    )
    await until(() => log.filter((line) => line.startsWith('rename late')).length === 20)
    release()
    await Promise.all([early, ...late])
    t.equal(
      log.filter((line) => line === 'sync /user/folder').length,
      2,
      'one sync for the early write, one for all late writes',
    )
    t.equal(log.lastIndexOf('sync /user/folder'), log.length - 1)
  },
)

t.test('the folders above a folder are synced once, and again after it was moved or removed', async (t) => {
  const { backend, log } = await openHeldBackend(t)
  const syncs = async (change: Promise<unknown>) => {
    log.length = 0
    await change
    return log.filter((line) => line.startsWith('sync')).sort()
  }
  t.strictSame(await syncs(backend.write('/user/folder/file', chunks('x'))), ['sync /user/folder'])
  await backend.move?.('/user/folder', '/user/moved')
  t.strictSame(await syncs(backend.write('/user/moved/file', chunks('x'))), [
    'sync /user',
    'sync /user/moved',
  ])
  t.strictSame(await syncs(backend.write('/user/moved/file', chunks('x'))), ['sync /user/moved'])
  await backend.remove('/user/moved')
  t.strictSame(await syncs(backend.makeDirectory('/user/moved')), ['sync /user', 'sync /user/moved'])
  t.strictSame(await syncs(backend.write('/user/moved/file', chunks('x'))), ['sync /user/moved'])
})

t.test('all writes that wait for the sync of a folder fail if it fails', async (t) => {
  const root = temporaryFolder(t)
  let broken = false
  const disk: Disk = {
    ...localDisk,
    fsync: (fd) =>
      broken
        ? Promise.reject(Object.assign(new Error('EIO'), { code: 'EIO', syscall: 'fsync' }))
        : localDisk.fsync(fd),
  }
  const backend = await openLocalBackend({ root, disk })
  t.teardown(() => backend.close())
  await backend.makeDirectory('/user')
  broken = true
  const writes = Array.from({ length: 5 }, (_, index) =>
    backend.write(join('/user', `${index}`), chunks('x')),
  )
  for (const outcome of await Promise.allSettled(writes)) t.equal(outcome.status, 'rejected')
  broken = false
  await backend.write('/user/file', chunks('x'))
})
