import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import {
  addFile,
  contentOf,
  fileAt,
  leaf,
  packFiles,
  pathsIn,
  putAll,
  type StoreStand,
  storeStand,
} from './fixtures/store-stand.ts'

const parts = (seed: string) =>
  Array.from({ length: 8 }, (_, index) => `${seed}${index}`.padEnd(20_000, seed))

/** Returns the files that have a text in them, of blocks or of the index. */
function filesWith({ folder, packs }: StoreStand, text: string): string[] {
  const files = [...readdirSync(folder).map((name) => join(folder, name)), ...packFiles({ packs })]
  return files.filter((file) => !file.endsWith('packs') && readFileSync(file).includes(text))
}

/** Returns how a record of the tree has a name. */
const storedText = (text: string) => Buffer.from(text, 'utf16le').swap16().toString('latin1')

t.test('a pack that is more than half dead is rewritten, but not below a snapshot', async (t) => {
  const stand = storeStand(t)
  const store = await stand.open()
  const [first] = await (async () => {
    await addFile(store, '/kept', ['kept'])
    await addFile(store, '/a', parts('a'))
    return packFiles(stand)
  })()
  const snapshot = store.snapshot()
  await store.change([{ kind: 'remove', path: '/a' }])
  // The row of the pack goes when its blocks have moved.
  const packRow = store.view.connection.prepare('SELECT 1 FROM pack WHERE number = 1')
  while (packRow.get() !== undefined) await setImmediate()
  t.equal(await fileAt(store.view, '/kept'), 'kept')
  t.equal(await fileAt(snapshot.view, '/a'), parts('a').join(''))
  t.ok(existsSync(first as string))
  await snapshot.release()
  while (existsSync(first as string)) await setImmediate()
  t.equal(await fileAt(store.view, '/kept'), 'kept')
  t.equal(await store.check(), null)
})

t.test('the pack that gets the blocks is rewritten when it has many dead bytes', async (t) => {
  const stand = storeStand(t)
  const store = await stand.open(64 * 1024 * 1024)
  const part = (name: string) => name.padEnd(600_000, name)
  await addFile(store, '/kept', [part('kept'), 'end'])
  await addFile(store, '/a', ['1', '2', '3', '4', '5', '6', '7', '8'].map(part))
  const [first = ''] = packFiles(stand)
  const open = store.session()
  await putAll(open, [leaf('held by a session')])
  await store.change([{ kind: 'remove', path: '/a' }])
  await addFile(store, '/next', ['next', 'end'])
  open.end()
  while (existsSync(first)) await setImmediate()
  t.equal(await fileAt(store.view, '/kept'), `${part('kept')}end`)
  t.equal(await fileAt(store.view, '/next'), 'nextend')
  t.equal(await store.check(), null)
})

t.test('after a compaction, no file has the bytes or the name of what was removed', async (t) => {
  const stand = storeStand(t)
  const store = await stand.open()
  const folder = '/a secret name'
  await addFile(store, `${folder}/a`, ['the secret content', ...parts('a')])
  await addFile(store, '/kept', ['kept', ...parts('b')])
  await store.compact()
  t.ok(filesWith(stand, 'the secret content').length > 0)
  await store.change([{ kind: 'remove', path: folder }])
  const reading = store.session()
  await reading.hold((await addFile(store, '/other', ['other'])).cid)
  const compacted = store.compact()
  reading.end()
  await compacted
  t.strictSame(filesWith(stand, 'the secret content'), [])
  for (const file of packFiles(stand))
    t.notOk(readFileSync(file).toString('latin1').includes(storedText('secret')))
  t.equal(await fileAt(store.view, '/kept'), ['kept', ...parts('b')].join(''))
  t.strictSame(pathsIn(store.view), ['/kept', '/other'])
  const { length, live } = store.view.connection
    .prepare('SELECT sum(length) - 18 * count(*) AS length, sum(live) AS live FROM pack')
    .get() as never
  t.equal(live, length, 'packs have nothing else than blocks')
  t.equal(await store.check(), null)
})

t.test('a compaction that is asked for with the removal of a folder leaves no name of it', async (t) => {
  const stand = storeStand(t)
  const store = await stand.open()
  await addFile(store, '/a secret name/a secret file', ['a'])
  await addFile(store, '/kept', ['kept'])
  await store.compact()
  await Promise.all([store.change([{ kind: 'remove', path: '/a secret name' }]), store.compact()])
  for (const file of packFiles(stand))
    t.notOk(readFileSync(file).toString('latin1').includes(storedText('secret')))
  t.strictSame(pathsIn(store.view), ['/kept'])
  t.equal(await store.check(), null)
})

t.test('a damaged block keeps its pack, and the others move', async (t) => {
  const stand = storeStand(t)
  const store = await stand.open(1_000_000)
  const damaged = await addFile(store, '/damaged', ['this block is damaged later'])
  await addFile(store, '/kept', ['kept'])
  await addFile(store, '/a', parts('a'))
  const [file] = packFiles(stand) as [string]
  writeFileSync(
    file,
    Buffer.from(readFileSync(file).toString('latin1').replace('is damaged', 'is dAmaged'), 'latin1'),
  )
  await store.change([{ kind: 'remove', path: '/a' }])
  await store.compact()
  t.equal(await fileAt(store.view, '/kept'), 'kept')
  await t.rejects(contentOf(store.view, damaged.cid), /damaged on the disk/)
  t.ok(existsSync(file))
  t.match(stand.log.join('\n'), /The block \S+ is damaged/)
  await t.resolves(store.compact(), 'it is not tried for ever')
})
