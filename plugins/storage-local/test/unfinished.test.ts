// In a process of its own: it counts the descriptors that are open.
import { cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type Disk, localDisk } from '../src/disk/disk.ts'
import { openLocalBackend } from '../src/open-local-backend.ts'
import { chunks, contentsOf, descriptors, leftovers, temporaryFolder } from './fixtures/storage-folder.ts'

t.test('the start removes the unfinished work of an earlier process', async (t) => {
  const root = temporaryFolder(t)
  const staging = join(root, '.nodekeep')
  mkdirSync(join(staging, 'removed-1', 'a', 'b'), { recursive: true })
  mkdirSync(join(staging, 'snapshot-4'))
  mkdirSync(join(root, 'user'))
  writeFileSync(join(root, 'user', 'file'), 'kept')
  writeFileSync(join(staging, 'write-1'), 'half')
  writeFileSync(join(staging, 'removed-1', 'a', 'b', 'file'), 'x')
  symlinkSync(join(root, 'user'), join(staging, 'removed-1', 'link'))
  symlinkSync(join(root, 'user'), join(staging, 'link'))
  await (await openLocalBackend({ root })).close()
  t.strictSame(leftovers(root), [])
  t.strictSame(contentsOf(root), { '/user': null, '/user/file': 'kept' })
})

/** Returns a disk on which the removal of leftovers waits for `allow`. */
function slowRemovals() {
  const { promise: allowed, resolve: allow } = Promise.withResolvers<void>()
  const disk: Disk = {
    ...localDisk,
    async unlink(path) {
      if (/(removed|snapshot|intent)-/.test(String(path))) await allowed
      await localDisk.unlink(path)
    },
  }
  return { disk, allow }
}

t.test('the start does not wait for the removal of leftovers', async (t) => {
  const root = temporaryFolder(t)
  const staging = join(root, '.nodekeep')
  for (const name of ['removed-1', 'snapshot-2', 'intent-3'])
    mkdirSync(join(staging, name), { recursive: true })
  const { disk, allow } = slowRemovals()
  const backend = await openLocalBackend({ root, disk })
  t.not(leftovers(root).length, 0, 'nothing is removed yet')
  await backend.write('/user/file', chunks('while it goes on'))
  t.strictSame(await Array.fromAsync(backend.list('/'), ({ name }) => name), ['user'])
  allow()
  await backend.close()
  t.strictSame(leftovers(root), [])
  t.strictSame(contentsOf(root), { '/user': null, '/user/file': 'while it goes on' })
})

t.test('a replacement that was undone at a start is not undone again at the next start', async (t) => {
  const root = temporaryFolder(t)
  const staging = join(root, '.nodekeep')
  mkdirSync(join(staging, 'intent-2', 'old'), { recursive: true })
  mkdirSync(join(root, 'taken'))
  const replace = { kind: 'replace', names: ['taken'] }
  writeFileSync(join(staging, 'intent-2', 'intent.json'), JSON.stringify(replace))
  writeFileSync(join(staging, 'intent-2', 'old', 'file'), 'old')
  const { disk, allow } = slowRemovals()
  const dying = await openLocalBackend({ root, disk })
  await dying.makeDirectory('/folder')
  rmSync(join(root, 'taken'), { recursive: true })
  // A copy of the disk as it would be if the process ended here.
  const copy = join(temporaryFolder(t), 'copy')
  cpSync(root, copy, { recursive: true })
  await (await openLocalBackend({ root: copy })).close()
  t.strictSame(contentsOf(copy), { '/folder': null })
  allow()
  await dying.close()
})

t.test(
  'the start restores a folder whose replacement was interrupted, unless its path is taken',
  async (t) => {
    for (const taken of [false, true]) {
      const root = temporaryFolder(t)
      const aside = join(root, '.nodekeep', 'intent-7')
      mkdirSync(join(aside, 'old'), { recursive: true })
      mkdirSync(join(root, 'user', 'source'), { recursive: true })
      writeFileSync(join(aside, 'old', 'file'), 'old')
      writeFileSync(
        join(aside, 'intent.json'),
        JSON.stringify({ kind: 'replace', names: ['user', 'folder'] }),
      )
      if (taken) mkdirSync(join(root, 'user', 'folder'))
      await (await openLocalBackend({ root })).close()
      const rest = taken ? {} : { '/user/folder/file': 'old' }
      t.strictSame(contentsOf(root), { '/user': null, '/user/folder': null, ...rest, '/user/source': null })
      t.strictSame(leftovers(root), [])
    }
  },
)

t.test(
  'the start puts a folder back that an interrupted replacement kept, unless its path is taken',
  async (t) => {
    for (const taken of [false, true]) {
      const root = temporaryFolder(t)
      const record = { kind: 'replace', names: ['user', 'folder'], kept: ['kept', 'user', 'name'] }
      for (const folder of ['.nodekeep/intent-7', 'kept/user/name', 'user'])
        mkdirSync(join(root, folder), { recursive: true })
      writeFileSync(join(root, '.nodekeep', 'intent-7', 'intent.json'), JSON.stringify(record))
      writeFileSync(join(root, 'kept', 'user', 'name', 'file'), 'old')
      if (taken) writeFileSync(join(root, 'user', 'folder'), 'new')
      // The second start finds nothing to undo.
      for (let start = 0; start < 2; start += 1) await (await openLocalBackend({ root })).close()
      const folders = { '/kept': null, '/kept/user': null, '/user': null }
      const rest = taken
        ? { '/kept/user/name': null, '/kept/user/name/file': 'old', '/user/folder': 'new' }
        : { '/user/folder': null, '/user/folder/file': 'old' }
      t.strictSame(contentsOf(root), { ...folders, ...rest })
      t.strictSame(leftovers(root), [])
    }
  },
)

t.test(
  'the start removes a record of another kind, by an earlier version of the node, and changes nothing',
  async (t) => {
    const root = temporaryFolder(t)
    const record = join(root, '.nodekeep', 'intent-1')
    mkdirSync(record, { recursive: true })
    mkdirSync(join(root, 'user', 'a'), { recursive: true })
    writeFileSync(
      join(record, 'intent.json'),
      JSON.stringify({ kind: 'make', names: ['user'], missing: ['a'] }),
    )
    await (await openLocalBackend({ root })).close()
    t.strictSame(leftovers(root), [])
    t.strictSame(contentsOf(root), { '/user': null, '/user/a': null })
  },
)

t.test('the start removes an incomplete record of a replacement, and changes nothing', async (t) => {
  const root = temporaryFolder(t)
  const aside = join(root, '.nodekeep', 'intent-1')
  mkdirSync(aside, { recursive: true })
  writeFileSync(join(aside, 'intent.json'), '{"kind":"repl')
  await (await openLocalBackend({ root })).close()
  t.strictSame(leftovers(root), [])
})

t.test('an aborted or failed write leaves no file, not even in the staging folder', async (t) => {
  const root = temporaryFolder(t)
  const backend = await openLocalBackend({ root })
  t.teardown(() => backend.close())
  const controller = new AbortController()
  async function* endless() {
    for (let count = 0; ; count += 1) {
      if (count === 40) controller.abort(new Error('enough'))
      yield Buffer.alloc(100_000)
    }
  }
  const attempts = [
    backend.write('/user/a/aborted', endless(), { signal: controller.signal }),
    backend.write('/user/b/refused', chunks('x'), { beforeCommit: () => Promise.reject(new Error('no')) }),
    backend.write('/user/c/short', chunks('x'), { size: 2 }),
  ]
  const outcomes = await Promise.allSettled(attempts)
  t.strictSame(
    outcomes.map(({ status }) => status),
    ['rejected', 'rejected', 'rejected'],
  )
  t.strictSame(leftovers(root), [])
  t.strictSame(contentsOf(root), {})
})

t.test('two backends cannot use a folder at the same time', async (t) => {
  const root = temporaryFolder(t)
  const first = await openLocalBackend({ root })
  await t.rejects(openLocalBackend({ root }), { code: 'CONFLICT' })
  await first.close()
  await (await openLocalBackend({ root })).close()
})

t.test('a name that is not valid UTF-8 is removed with its folder, also at the start', async (t) => {
  const root = temporaryFolder(t)
  const staging = join(root, '.nodekeep')
  const illegible = Buffer.from([0x61, 0xff, 0x62])
  const inside = (folder: string) => Buffer.concat([Buffer.from(`${folder}/`), illegible])
  for (const folder of [join(staging, 'removed-1'), join(root, 'user', 'folder')]) {
    mkdirSync(folder, { recursive: true })
    mkdirSync(inside(folder))
    writeFileSync(Buffer.concat([inside(folder), Buffer.from('/'), illegible]), 'x')
    writeFileSync(join(folder, '\uFFFD'), 'x')
  }
  const backend = await openLocalBackend({ root })
  await backend.remove('/user/folder')
  await backend.close()
  t.strictSame(leftovers(root), [])
  t.strictSame(contentsOf(root), { '/user': null })
})

t.test('the removal of a tree takes a bounded number of descriptors, whatever its depth', async (t) => {
  const root = temporaryFolder(t)
  const depth = '/a'.repeat(500)
  mkdirSync(join(root, `.nodekeep/removed-1${depth}`), { recursive: true })
  writeFileSync(join(root, `.nodekeep/removed-1${depth}/intent.json`), 'x')
  mkdirSync(join(root, `user/tree${depth}`), { recursive: true })
  const open = descriptors()
  let most = 0
  const opening: Disk['open'] = async (...args) => {
    const fd = await localDisk.open(...args)
    most = Math.max(most, descriptors())
    return fd
  }
  const backend = await openLocalBackend({ root, disk: { ...localDisk, open: opening } })
  await backend.remove('/user/tree')
  await backend.close()
  t.strictSame(leftovers(root), [])
  t.ok(most - open < 200, `${most - open} descriptors`)
})
