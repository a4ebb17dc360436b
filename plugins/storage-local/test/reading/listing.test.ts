import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type Disk, localDisk } from '../../src/disk/disk.ts'
import { openLocalBackend } from '../../src/open-local-backend.ts'
import { folderInMemory, temporaryFolder } from '../fixtures/storage-folder.ts'

t.test('thirty thousand entries are listed in order while other work continues', async (t) => {
  const root = folderInMemory(t)
  mkdirSync(join(root, 'user'))
  const expected: string[] = []
  for (let index = 0; index < 30_000; index += 1) {
    const name = `file-${(index * 7919) % 30_011}.txt`
    expected.push(name)
    writeFileSync(join(root, 'user', name), '')
  }
  const backend = await openLocalBackend({ root })
  t.teardown(() => backend.close())
  let turns = 0
  let listing = true
  const others = () => {
    turns += 1
    if (listing) setImmediate(others)
  }
  others()
  const names: string[] = []
  for await (const { name } of backend.list('/user')) names.push(name)
  listing = false
  t.strictSame(names, expected.sort())
  t.ok(turns > 300, `${turns} turns of the event loop`)
})

t.test('threads look up the entries that the system must read from the disk', async (t) => {
  const root = temporaryFolder(t)
  mkdirSync(join(root, 'user'))
  for (let index = 0; index < 500; index += 1)
    writeFileSync(join(root, 'user', `${index}`.padStart(3, '0')), 'x')
  let slow = 0
  let aside = 0
  const disk: Disk = {
    ...localDisk,
    lstatSync(path) {
      slow += 1
      const end = performance.now() + 5
      while (performance.now() < end);
      return localDisk.lstatSync(path)
    },
    lstat(path) {
      aside += 1
      return localDisk.lstat(path)
    },
  }
  const backend = await openLocalBackend({ root, disk })
  t.teardown(() => backend.close())
  const entries = await Array.fromAsync(backend.list('/user'))
  t.equal(entries.length, 500)
  t.ok(slow < 20 && aside > 450, `${slow} looked up by the main thread, ${aside} by others`)
})

t.test('a folder that is removed while it is listed ends the listing', async (t) => {
  const root = temporaryFolder(t)
  const folder = mkdtempSync(join(root, 'folder-'))
  for (let index = 0; index < 300; index += 1) writeFileSync(join(folder, `${index}`), 'x')
  const backend = await openLocalBackend({ root })
  t.teardown(() => backend.close())
  let seen = 0
  for await (const _entry of backend.list(folder.slice(root.length))) {
    seen += 1
    if (seen === 1) rmSync(folder, { recursive: true })
  }
  t.ok(seen >= 1 && seen < 300)
})

t.test('a listing that begins after a name looks up no entry before it', async (t) => {
  const root = temporaryFolder(t)
  mkdirSync(join(root, 'user'))
  for (let index = 0; index < 500; index += 1)
    writeFileSync(join(root, 'user', `${index}`.padStart(3, '0')), 'x')
  let looked = 0
  const disk: Disk = {
    ...localDisk,
    lstatSync(path) {
      looked += 1
      return localDisk.lstatSync(path)
    },
    lstat(path) {
      looked += 1
      return localDisk.lstat(path)
    },
  }
  const backend = await openLocalBackend({ root, disk })
  t.teardown(() => backend.close())
  const entries = await Array.fromAsync(backend.list('/user', { after: '489' }))
  t.strictSame(
    entries.map(({ name }) => name),
    ['490', '491', '492', '493', '494', '495', '496', '497', '498', '499'],
  )
  t.ok(looked < 20, `${looked} looked up`)
})
