import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type Disk, localDisk } from '../src/disk/disk.ts'
import { openLocalBackend } from '../src/open-local-backend.ts'
import { chunks, contentsOf, descriptors, leftovers, temporaryFolder } from './fixtures/storage-folder.ts'

t.test('what an ended process left behind is swept away at the start', async (t) => {
  const root = temporaryFolder(t)
  const side = join(root, '.nodekeep')
  mkdirSync(join(side, 'removed-1', 'a', 'b'), { recursive: true })
  mkdirSync(join(side, 'snapshot-4'))
  mkdirSync(join(root, 'user'))
  writeFileSync(join(root, 'user', 'file'), 'kept')
  writeFileSync(join(side, 'write-1'), 'half')
  writeFileSync(join(side, 'removed-1', 'a', 'b', 'file'), 'x')
  symlinkSync(join(root, 'user'), join(side, 'removed-1', 'link'))
  symlinkSync(join(root, 'user'), join(side, 'link'))
  const backend = await openLocalBackend({ root })
  t.teardown(() => backend.close())
  t.strictSame(leftovers(root), [])
  t.strictSame(contentsOf(root), { '/user': null, '/user/file': 'kept' })
})

t.test('a folder that was being replaced comes back, unless its place is taken', async (t) => {
  for (const taken of [false, true]) {
    const root = temporaryFolder(t)
    const aside = join(root, '.nodekeep', 'intent-7')
    mkdirSync(join(aside, 'old'), { recursive: true })
    mkdirSync(join(root, 'user', 'source'), { recursive: true })
    writeFileSync(join(aside, 'old', 'file'), 'old')
    writeFileSync(join(aside, 'intent.json'), JSON.stringify({ kind: 'replace', names: ['user', 'folder'] }))
    if (taken) mkdirSync(join(root, 'user', 'folder'))
    await (await openLocalBackend({ root })).close()
    const rest = taken ? {} : { '/user/folder/file': 'old' }
    t.strictSame(contentsOf(root), { '/user': null, '/user/folder': null, ...rest, '/user/source': null })
    t.strictSame(leftovers(root), [])
  }
})

t.test('folders made for a move that never came go, as far as they are empty', async (t) => {
  const root = temporaryFolder(t)
  const aside = join(root, '.nodekeep', 'intent-1')
  mkdirSync(aside, { recursive: true })
  mkdirSync(join(root, 'user', 'a', 'b', 'c'), { recursive: true })
  writeFileSync(join(root, 'user', 'a', 'file'), 'of somebody else')
  const intent = { kind: 'make', names: ['user'], missing: ['a', 'b', 'c'] }
  writeFileSync(join(aside, 'intent.json'), JSON.stringify(intent))
  await (await openLocalBackend({ root })).close()
  t.strictSame(contentsOf(root), { '/user': null, '/user/a': null, '/user/a/file': 'of somebody else' })
})

t.test('an intent that was not written to its end means nothing', async (t) => {
  const root = temporaryFolder(t)
  const aside = join(root, '.nodekeep', 'intent-1')
  mkdirSync(aside, { recursive: true })
  writeFileSync(join(aside, 'intent.json'), '{"kind":"repl')
  await (await openLocalBackend({ root })).close()
  t.strictSame(leftovers(root), [])
})

t.test('an aborted or failed write leaves nothing, in the side folder either', async (t) => {
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

t.test('two backends can not share a folder, one after the other can', async (t) => {
  const root = temporaryFolder(t)
  const first = await openLocalBackend({ root })
  await t.rejects(openLocalBackend({ root }), { code: 'CONFLICT' })
  await first.close()
  await (await openLocalBackend({ root })).close()
})

t.test('what has a name that is no text is removed with its folder, also at the start', async (t) => {
  const root = temporaryFolder(t)
  const side = join(root, '.nodekeep')
  const illegible = Buffer.from([0x61, 0xff, 0x62])
  const inside = (folder: string) => Buffer.concat([Buffer.from(`${folder}/`), illegible])
  for (const folder of [join(side, 'removed-1'), join(root, 'user', 'folder')]) {
    mkdirSync(folder, { recursive: true })
    mkdirSync(inside(folder))
    writeFileSync(Buffer.concat([inside(folder), Buffer.from('/'), illegible]), 'x')
    writeFileSync(join(folder, '\uFFFD'), 'x')
  }
  const backend = await openLocalBackend({ root })
  t.strictSame(leftovers(root), [])
  await backend.remove('/user/folder')
  await backend.close()
  t.strictSame(leftovers(root), [])
  t.strictSame(contentsOf(root), { '/user': null })
})

t.test('the depth of a tree does not count in its removal', async (t) => {
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
  t.strictSame(leftovers(root), [])
  await backend.remove('/user/tree')
  await backend.close()
  t.strictSame(leftovers(root), [])
  t.ok(most - open < 200, `${most - open} descriptors`)
})
