import { utimesSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { type Disk, localDisk } from '../../src/disk/disk.ts'
import { openLocalBackend } from '../../src/open-local-backend.ts'
import { chunks, folderInMemory, leftovers, temporaryFolder } from '../fixtures/storage-folder.ts'

/** The revision of a file as the first versions of this backend told it. */
async function formerRevision(path: string): Promise<string> {
  const { ino, mtimeNs, size } = await stat(path, { bigint: true })
  return `${ino.toString(36)}-${mtimeNs.toString(36)}-${size.toString(36)}`
}

t.test('the revisions of files that were written before times could be set stay as they are', async (t) => {
  const root = temporaryFolder(t)
  const backend = await openLocalBackend({ root })
  t.teardown(() => backend.close())
  for (let count = 0; count < 50; count += 1) {
    const { revision } = await backend.write('/user/file', chunks(`${count % 7}`))
    t.equal(revision, await formerRevision(join(root, 'user/file')))
  }
})

t.test('files with the same inode, size and set time have different revisions', async (t) => {
  const root = temporaryFolder(t)
  const backend = await openLocalBackend({ root })
  t.teardown(() => backend.close())
  const past = new Date('2020-01-01T00:00:00.123Z')
  const recent = new Date()
  for (const modified of [past, recent]) {
    const revisions = new Set<string>()
    for (let count = 0; count < 300; count += 1) {
      const entry = await backend.write('/user/file', chunks('same'), { modified })
      t.strictSame(entry.modified, modified)
      revisions.add(entry.revision)
    }
    t.equal(revisions.size, 300)
  }
})

t.test(
  'a time that another program sets back changes the revision once, and it survives a move',
  async (t) => {
    const root = temporaryFolder(t)
    const backend = await openLocalBackend({ root })
    t.teardown(() => backend.close())
    const { revision } = await backend.write('/user/file', chunks('x'))
    utimesSync(join(root, 'user/file'), new Date(0), new Date(0))
    const changed = await backend.stat('/user/file')
    t.not(changed.revision, revision)
    await backend.move?.('/user', '/moved')
    t.equal((await backend.stat('/moved/file')).revision, changed.revision)
  },
)

/** A disk that keeps 32 bits of seconds, as `ext4` with small inodes does. */
const with32Bits: Disk = {
  ...localDisk,
  touchSync: (fd, seconds) => localDisk.touchSync(fd, Math.min(Math.max(seconds, -(2 ** 31)), 2 ** 31 - 1)),
}

t.test('a time that the disk cannot keep is not kept', async (t) => {
  const backend = await openLocalBackend({ root: temporaryFolder(t), disk: with32Bits })
  t.teardown(() => backend.close())
  t.equal(backend.supports.modified, true)
  const first = new Date('1901-12-13T20:45:52.000Z')
  t.strictSame((await backend.write('/user/first', chunks('x'), { modified: first })).modified, first)
  for (const time of ['1901-12-13T20:45:51.999Z', '1601-01-01T00:00:00.000Z', '0000-01-01T00:00:00.000Z']) {
    const before = Date.now() - 2000
    const entry = await backend.write('/user/file', chunks('x'), { modified: new Date(time) })
    t.ok(entry.modified.getTime() >= before, `${time} is replaced by the present`)
    t.strictSame(await backend.stat('/user/file'), entry)
  }
})

t.test('a disk that keeps every time keeps it to the millisecond', async (t) => {
  const root = folderInMemory(t)
  const backend = await openLocalBackend({ root })
  t.teardown(() => backend.close())
  for (const time of ['0000-01-01T00:00:00.000Z', '0000-03-04T05:06:07.999Z', '1601-01-01T00:00:00.001Z']) {
    const revisions = new Set<string>()
    for (let count = 0; count < 100; count += 1) {
      const { modified, revision } = await backend.write('/user/file', chunks('x'), {
        modified: new Date(time),
      })
      if (modified.getTime() > Date.parse('1901-01-01')) return t.pass('This disk does not keep every time.')
      t.equal(modified.toISOString(), time)
      revisions.add(revision)
    }
    t.equal(revisions.size, 100)
  }
})

/** A disk whose files have another time in the place of the time of birth. */
const withBirthAs = (time: 'ctimeNs' | 'mtimeNs' | 'none'): Disk => ({
  ...localDisk,
  fstatSync(fd) {
    const stats = localDisk.fstatSync(fd)
    const birthtimeNs = time === 'none' ? 0n : stats[time]
    return Object.assign(stats, { birthtimeNs, birthtimeMs: birthtimeNs / 1_000_000n })
  },
})

t.test('without a lasting time of birth, times cannot be set, and revisions do not use it', async (t) => {
  for (const time of ['ctimeNs', 'mtimeNs', 'none'] as const) {
    const root = temporaryFolder(t)
    const backend = await openLocalBackend({ root, disk: withBirthAs(time) })
    t.teardown(() => backend.close())
    t.equal(backend.supports.modified, false)
    t.strictSame(leftovers(root), [])
    await backend.write('/user/file', chunks('x'), { modified: new Date(0) })
    t.not((await backend.stat('/user/file')).modified.getTime(), 0)
    utimesSync(join(root, 'user/file'), new Date(0), new Date(0))
    const { revision } = await backend.stat('/user/file')
    t.equal(revision, await formerRevision(join(root, 'user/file')))
    await backend.move?.('/user/file', '/user/moved')
    t.equal((await backend.stat('/user/moved')).revision, revision)
  }
})

t.test('a disk that keeps whole seconds only cannot set times', async (t) => {
  const disk: Disk = {
    ...localDisk,
    touchSync: (fd, seconds) => localDisk.touchSync(fd, Math.floor(seconds)),
  }
  const backend = await openLocalBackend({ root: temporaryFolder(t), disk })
  t.teardown(() => backend.close())
  t.equal(backend.supports.modified, false)
})
