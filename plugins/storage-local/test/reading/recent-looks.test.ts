import { renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type Disk, localDisk } from '../../src/disk/disk.ts'
import { openLocalBackend } from '../../src/open-local-backend.ts'
import { temporaryFolder } from '../fixtures/storage-folder.ts'

t.test('whoever looks again in a moment needs no thread, and sees what others did meanwhile', async (t) => {
  const root = temporaryFolder(t)
  let aside = 0
  const disk: Disk = {
    ...localDisk,
    lstat(path) {
      aside += 1
      return localDisk.lstat(path)
    },
  }
  const backend = await openLocalBackend({ root, disk })
  t.teardown(() => backend.close())
  const file = join(root, 'file')
  writeFileSync(file, 'one')
  const first = await backend.stat('/file')
  t.equal(aside, 1)
  for (let round = 0; round < 3; round += 1) t.strictSame(await backend.stat('/file'), first)
  t.equal(aside, 1, 'all others were told at once')

  writeFileSync(`${file}.new`, 'three')
  renameSync(`${file}.new`, file)
  const second = await backend.stat('/file')
  t.not(second.revision, first.revision)
  t.match(second, { size: 5, modified: statSync(file).mtime })
  rmSync(file)
  await t.rejects(backend.stat('/file'), { code: 'NOT_FOUND' })
  t.equal(aside, 1)
})

t.test('of many files, the last thousand are remembered', async (t) => {
  const root = temporaryFolder(t)
  let aside = 0
  const disk: Disk = {
    ...localDisk,
    lstat(path) {
      aside += 1
      return localDisk.lstat(path)
    },
  }
  const backend = await openLocalBackend({ root, disk })
  t.teardown(() => backend.close())
  const look = (number: number) => t.rejects(backend.stat(`/${number}`), { code: 'NOT_FOUND' })
  await look(0)
  await Promise.all(Array.from({ length: 999 }, (_, number) => look(number + 1)))
  await look(1000)
  aside = 0
  await look(1000)
  t.equal(aside, 0)
  await look(0)
  t.ok(aside > 0)
})
