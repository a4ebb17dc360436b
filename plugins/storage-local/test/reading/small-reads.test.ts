import {
  linkSync,
  lstatSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { setTimeout as after, setImmediate as nextTurn } from 'node:timers/promises'
import type { StorageBackend } from '@nodekeep/plugin-sdk'
import t, { type Test } from 'tap'
import { type Disk, localDisk } from '../../src/disk/disk.ts'
import { openLocalBackend } from '../../src/open-local-backend.ts'
import { chunks, collect, temporaryFolder } from '../fixtures/storage-folder.ts'

// Each test waits until its files have not changed for two seconds.
t.jobs = 8

/** Opens a backend with files of two seconds ago. `reads` counts the reads by a thread, `quick` those without. */
async function aged(t: Test, files: Record<string, string>) {
  const root = temporaryFolder(t)
  let [reads, quick] = [0, 0]
  const disk: Disk = {
    ...localDisk,
    read(...args) {
      reads += 1
      return localDisk.read(...args)
    },
    readSync(...args) {
      quick += 1
      return localDisk.readSync(...args)
    },
  }
  const backend = await openLocalBackend({ root, disk })
  t.teardown(() => backend.close())
  for (const [path, text] of Object.entries(files)) await backend.write(path, chunks(text))
  const text = async (path: string) => (await collect((await backend.read(path)).content)).toString()
  const last = join(root, Object.keys(files).at(-1) ?? '')
  const age = () => Date.now() - statSync(last).ctimeMs
  while (age() < 2200) await after(2200 - age())
  return {
    root,
    backend,
    text,
    at: (path: string) => join(root, path),
    reads: () => reads,
    quick: () => quick,
  }
}

t.test('a small file that was just read is read without a thread', { buffered: true }, async (t) => {
  const { text, reads, quick, backend } = await aged(t, { '/user/file': 'small' })
  for (let round = 0; round < 5; round += 1) t.equal(await text('/user/file'), 'small')
  t.strictSame([reads(), quick()], [1, 4])
  const { entry, content } = await backend.read('/user/file', { start: 1, end: 3 })
  t.equal((await collect(content)).toString(), 'mal')
  t.strictSame(entry, await backend.stat('/user/file'))
  await t.rejects(backend.read('/user/file', { start: 5 }), { code: 'RANGE_NOT_SATISFIABLE' })
  t.equal(reads(), 1)
})

t.test('a file with a long path is always looked up by a thread', { buffered: true }, async (t) => {
  const path = `${'/d'.repeat(1000)}/file`
  const { text, reads, quick } = await aged(t, { [path]: 'deep' })
  for (let round = 0; round < 3; round += 1) t.equal(await text(path), 'deep')
  t.strictSame([reads(), quick()], [3, 0])
})

t.test(
  'a reader that changes its bytes does not change the bytes of other readers',
  { buffered: true },
  async (t) => {
    const { text, backend } = await aged(t, { '/file': 'small' })
    for (let round = 0; round < 2; round += 1) {
      for await (const chunk of (await backend.read('/file')).content) chunk.fill(0)
    }
    t.equal(await text('/file'), 'small')
  },
)

t.test('the next read sees every change of a file', { buffered: true }, async (t) => {
  const changes: Record<string, (file: string, backend: StorageBackend, path: string) => unknown> = {
    'edited in place': (file) => writeFileSync(file, 'after!'),
    'grown in place': (file) => writeFileSync(file, 'before and after!'),
    'edited with the old time put back': (file) => {
      const { atime, mtime } = statSync(file)
      writeFileSync(file, 'after!')
      utimesSync(file, atime, mtime)
    },
    'replaced by a rename': (file) => {
      writeFileSync(`${file}.new`, 'after!')
      renameSync(`${file}.new`, file)
    },
    'removed and made again': (file) => {
      unlinkSync(file)
      writeFileSync(file, 'after!')
    },
    'its folder replaced': (file) => {
      const folder = dirname(file)
      renameSync(folder, `${folder}.old`)
      mkdirSync(folder)
      writeFileSync(file, 'after!')
    },
    overwritten: (_, backend, path) => backend.write(path, chunks('after!')),
    'moved over': async (_, backend, path) => {
      await backend.write('/user/source', chunks('after!'))
      await backend.move?.('/user/source', path, { overwrite: true })
    },
    'its folder moved over': async (_, backend, path) => {
      await backend.write('/user/folder/file', chunks('after!'))
      await backend.move?.('/user/folder', dirname(path), { overwrite: true })
    },
  }
  const paths = Object.fromEntries(Object.keys(changes).map((name) => [name, `/user/${name}/file`]))
  const files = Object.fromEntries(Object.values(paths).map((path) => [path, 'before']))
  const { text, at, backend, reads } = await aged(t, files)
  for (const path of Object.values(paths)) await text(path)
  const readOnce = reads()
  for (const path of Object.values(paths)) t.equal(await text(path), 'before')
  t.equal(reads(), readOnce, 'all are read without a thread')
  for (const [name, change] of Object.entries(changes)) {
    const path = paths[name] ?? ''
    await change(at(path), backend, path)
    t.match(await text(path), /after!$/, name)
  }
})

t.test(
  'a file that was removed, or became a link or a folder, is not found',
  { buffered: true },
  async (t) => {
    const { text, at, backend } = await aged(t, {
      '/user/a': 'a',
      '/user/b': 'b',
      '/user/c': 'c',
      '/user/d/e': 'e',
    })
    for (const path of ['/user/a', '/user/b', '/user/c', '/user/d/e']) await text(path)
    unlinkSync(at('/user/a'))
    linkSync(at('/user/b'), at('/user/same'))
    unlinkSync(at('/user/b'))
    symlinkSync('same', at('/user/b'))
    await backend.remove('/user/c')
    await backend.makeDirectory('/user/c')
    rmSync(at('/user/d'), { recursive: true })
    writeFileSync(at('/user/d'), 'a file now')
    for (const path of ['/user/a', '/user/b', '/user/d/e'])
      await t.rejects(text(path), { code: 'NOT_FOUND' }, path)
    await t.rejects(text('/user/c'), { code: 'CONFLICT' })
    t.ok(lstatSync(at('/user/b')).isSymbolicLink())
  },
)

t.test('a file behind a link that replaced its folder is not found', { buffered: true }, async (t) => {
  const { text, at, reads } = await aged(t, { '/user/a/b/file': 'x', '/user/near/file': 'y' })
  const outside = temporaryFolder(t)
  for (let round = 0; round < 2; round += 1) {
    t.equal(await text('/user/a/b/file'), 'x')
    t.equal(await text('/user/near/file'), 'y')
  }
  t.equal(reads(), 2, 'both are read without a thread')
  for (const [folder, file] of [
    ['/user/a', '/user/a/b/file'],
    ['/user/near', '/user/near/file'],
  ] as const) {
    const moved = join(outside, basename(folder))
    renameSync(at(folder), moved)
    symlinkSync(moved, at(folder))
    await nextTurn()
    await t.rejects(text(file), { code: 'NOT_FOUND' }, file)
    await t.rejects(text(file), { code: 'NOT_FOUND' }, `${file} again`)
  }
})

t.test('a file that has just changed is read by a thread each time', { buffered: true }, async (t) => {
  const { text, at, reads } = await aged(t, { '/file': 'first' })
  for (let round = 0; round < 200; round += 1) {
    const content = `${round}`.padStart(5, '0')
    writeFileSync(at('/file'), content)
    t.equal(await text('/file'), content)
  }
  t.ok(reads() >= 200)
})

t.test('a file of more than 64 KiB is always read by a thread', { buffered: true }, async (t) => {
  const large = 'x'.repeat(64 * 1024 + 1)
  const { text, at, quick } = await aged(t, { '/large': large, '/grown': 'small' })
  for (let round = 0; round < 3; round += 1) t.equal(await text('/large'), large)
  t.equal(quick(), 0)
  await text('/grown')
  writeFileSync(at('/grown'), large)
  t.equal(await text('/grown'), large)
})
