import type { ChangeMaker, FileChange } from '@nodekeep/plugin-sdk'
import { type Test, test } from 'tap'
import type { KeptEntry } from '../../src/entries/kept-reader.ts'
import type { FoundEntry, PlacedEntry } from '../../src/entries/known-entry.ts'
import type { ChangeIntent } from '../../src/journal/change.ts'
import type { Journal } from '../../src/journal/journal.ts'
import { temporaryJournal } from '../journal/fixtures/temporary-journal.ts'

const ada = 'ada'
const laptop: ChangeMaker = { kind: 'token', id: 'of the laptop', user: ada }
const phone: ChangeMaker = { kind: 'token', id: 'of the phone', user: ada }

type Change = Omit<ChangeIntent, 'userUuid'>

/** A journal with the files of a user on a storage that is known. */
async function open(t: Test) {
  const journal = await temporaryJournal(t)
  await journal.index({ kind: 'set-storage', name: 'local', storageId: 'of a disk' })
  const reader = () => journal.keptOf(ada)
  return {
    journal,
    reader,
    record: async (change: Change) => (await journal.begin({ userUuid: ada, ...change })).commit(),
    write: async (path: string, revision: string, more: Partial<Change> = {}) => {
      const intent = { userUuid: ada, op: 'write', path, size: revision.length, revision, ...more } as const
      await (await journal.begin(intent)).commit({ modified: 1000, sha256: hashOf(revision) })
    },
    at: async (path: string) => (await journal.entriesOf(ada)).at(ada, path),
    trash: async (limit = 10, before?: number) => (await reader()).trash(ada, limit, before),
    sums: async () => {
      const [sums] = (await reader()).sums(ada)
      return [sums?.bytes, sums?.entries, sums?.keptBytes, sums?.keptEntries]
    },
  }
}

function hashOf(text: string): string {
  return Buffer.from(text).toString('hex').padEnd(64, '0')
}

const names = (kept: readonly KeptEntry[]) => kept.map(({ entry }) => entry.name)

async function feed(journal: Journal, after: number): Promise<[string, string, ...unknown[]][]> {
  const row = ({ op, path, size, revision, source }: FileChange) =>
    [op, path, size, revision, source].filter((value) => value !== undefined)
  return (await journal.read(ada, after)).map(row) as [string, string][]
}

test('a deleted folder is an item of the trash, and comes back with its ids, hashes and versions', async (t) => {
  const index = await open(t)
  await index.write('/a/in/file', 'one')
  await index.write('/a/in/file', 'two', { keptAs: 'v1' })
  await index.write('/b', 'other')
  const file = await index.at('/a/in/file')
  const folder = await index.at('/a')
  await index.record({ op: 'delete', path: '/a', keptAs: 'k1', maker: phone, group: 'g' })
  t.equal(await index.at('/a'), null)
  const entries = await index.journal.entriesOf(ada)
  const tree = entries.tree(ada, 'local')
  if (tree === null || file === null) throw new Error('no tree')
  t.equal(entries.namesOf(file.id), null, 'what is kept has no path')
  t.same([entries.placesOf(tree, 'two'), entries.withContent(tree, hashOf('two'), 10)], [[], []])
  const [item, ...others] = await index.trash()
  t.match(item, { user: ada, storage: 'local', of: null, path: '/a', maker: phone, group: 'g' })
  t.match(item?.entry, { id: folder?.id, name: 'k1', type: 'directory', size: 3, below: 2 })
  t.same(others, [])
  t.same(await index.sums(), [5, 1, 6, 4], 'a version counts too')
  t.same((await index.reader()).users(), [ada])
  t.equal((await index.reader()).named(ada, 'k1')?.number, item?.number)
  t.equal((await index.reader()).get('bert', item?.number ?? 0), null, 'it is none of another user')

  const seen = await index.journal.head(ada)
  const back = await index.journal.begin({
    userUuid: ada,
    op: 'move',
    path: '/c/a',
    restores: 'k1',
    staging: 'place',
  })
  t.equal(await index.journal.head(ada), seen)
  t.match(await index.journal.pending(), [{ op: 'move', path: '/c/a', restores: 'k1', staging: 'place' }])
  await index.record({ op: 'mkdir', path: '/meanwhile' })
  await back.commit()
  t.same(await feed(index.journal, seen), [
    ['mkdir', '/meanwhile'],
    ['mkdir', '/c/a'],
    ['mkdir', '/c/a/in'],
    ['write', '/c/a/in/file', 3, 'two'],
  ])
  t.same(await index.at('/c/a/in/file'), file, 'all of it is as before')
  t.same(await index.trash(), [])
  t.same(await index.sums(), [8, 6, 3, 1])
  t.same(names((await index.reader()).versions(ada, file.id, 10)), ['v1'])
  t.same(await index.journal.pending(), [])
})

test('a version has the facts that the file had, and the file has them again when it is restored', async (t) => {
  const index = await open(t)
  await index.write('/f', 'one', { created: new Date(7) })
  const before = await index.at('/f')
  await index.write('/f', 'second', { keptAs: 'v1', maker: laptop, created: new Date(7) })
  await index.write('/f', 'third', { keptAs: 'v2', maker: laptop })
  await index.write('/f', 'fourth', { keptAs: 'v3', maker: phone })
  const now = await index.at('/f')
  t.equal(now?.id, before?.id)
  const versions = async () => (await index.reader()).versions(ada, now?.id ?? 0, 10)
  t.same(
    (await versions()).map(({ entry, isHandover, path }) => [entry.name, entry.revision, isHandover, path]),
    [
      ['v3', 'third', true, '/f'],
      ['v2', 'second', false, '/f'],
      ['v1', 'one', true, '/f'],
    ],
  )
  const last = (await versions()).at(-1)
  t.match(last?.entry, { type: 'file', size: 3, modified: 1000, created: 7, sha256: hashOf('one') })
  t.match(last, { of: now?.id, maker: laptop })
  t.same(await index.trash(), [], 'versions are no items of the trash')
  t.same(await index.sums(), [6, 1, 14, 3])
  const page = (await index.reader()).versions(ada, now?.id ?? 0, 2)
  t.same(names((await index.reader()).versions(ada, now?.id ?? 0, 2, page.at(-1)?.number)), ['v1'])

  const seen = await index.journal.head(ada)
  await index.record({ op: 'write', path: '/f', size: 3, revision: 'one', restores: 'v1', keptAs: 'v4' })
  t.same(await index.at('/f'), before)
  t.same(names(await versions()), ['v4', 'v3', 'v2'])
  t.same(await feed(index.journal, seen), [['write', '/f', 3, 'one']], 'A, B, A is a change')
  t.same(await index.sums(), [3, 1, 17, 3])
})

test('a file that replaces another one keeps it as a version, and its own versions go over', async (t) => {
  const index = await open(t)
  await index.write('/a', 'a1')
  await index.write('/a', 'a2', { keptAs: 'of a' })
  await index.write('/b', 'b1')
  await index.write('/b', 'b2', { keptAs: 'of b' })
  const a = await index.at('/a')
  await index.record({ op: 'move', source: '/b', path: '/a', revision: 'b2', keptAs: 'replaced' })
  t.match(await index.at('/a'), { id: a?.id, revision: 'b2' })
  t.same(names((await index.reader()).versions(ada, a?.id ?? 0, 10)), ['replaced', 'of b', 'of a'])
  await index.write('/c/file', 'c1')
  await index.record({ op: 'move', source: '/a', path: '/c', revision: 'b2', keptAs: 'folder' })
  t.match(await index.trash(), [{ path: '/c', entry: { name: 'folder', type: 'directory', size: 2 } }])
  t.match(await index.at('/c'), { id: a?.id })
  await index.record({ op: 'move', source: '/c', path: '/c', revision: 'b2', keptAs: 'nothing' })
  await index.record({ op: 'write', path: '/new', size: 1, revision: 'n', keptAs: 'nothing' })
  t.equal((await index.reader()).named(ada, 'nothing'), null, 'what replaced nothing keeps nothing')
})

test('a placed copy keeps what it replaces', async (t) => {
  const index = await open(t)
  await index.write('/folder/x', 'x')
  await index.write('/file', 'old')
  await index.record({ op: 'mkdir', path: '/.copying-1', staging: 'begin' })
  await index.record({ op: 'write', path: '/.copying-1/y', size: 1, revision: 'y', staging: 'fill' })
  await index.record({
    op: 'move',
    source: '/.copying-1',
    path: '/folder',
    staging: 'replace',
    keptAs: 'k1',
  })
  t.match(await index.trash(), [{ path: '/folder', entry: { name: 'k1', below: 1 } }])
  await index.record({ op: 'write', path: '/.copying-2', size: 3, revision: 'new', staging: 'begin' })
  await index.record({
    op: 'move',
    source: '/.copying-2',
    path: '/file',
    revision: 'new',
    staging: 'place',
    keptAs: 'k2',
  })
  const file = await index.at('/file')
  t.equal(file?.revision, 'new')
  t.match((await index.reader()).versions(ada, file?.id ?? 0, 10), [
    { entry: { name: 'k2', revision: 'old' } },
  ])
})

test('a folder that goes file by file is one item, and comes back file by file', async (t) => {
  const index = await open(t)
  await index.write('/top/a/x', 'x1')
  await index.write('/top/a/y', 'y1')
  await index.write('/top/z', 'z1')
  const x = await index.at('/top/a/x')
  await index.record({ op: 'delete', path: '/top/a/x', keptAs: 'k1/a/x' })
  t.match(await index.trash(), [{ path: '/top', entry: { size: 2, below: 2 } }])
  const gone = ['/top/a/y', '/top/a', '/top/z', '/top']
  for (const path of gone)
    await index.record({ op: 'delete', path, keptAs: `k1${path.slice('/top'.length)}` })
  t.match(await index.trash(), [{ path: '/top', entry: { name: 'k1', size: 6, below: 4 } }])
  t.same(await index.sums(), [0, 0, 6, 5])
  const seen = await index.journal.head(ada)
  for (const path of ['/top', '/top/a']) await index.record({ op: 'mkdir', path })
  for (const inside of ['/a/x', '/a/y', '/z', '/a', ''])
    await index.record({ op: 'move', path: `/top${inside}`, restores: `k1${inside}`, staging: 'place' })
  t.same(await index.trash(), [])
  t.same(await index.sums(), [6, 5, 0, 0])
  t.same(await index.at('/top/a/x'), x)
  t.same(await feed(index.journal, seen), [
    ['mkdir', '/top'],
    ['mkdir', '/top/a'],
    ['write', '/top/a/x', 2, 'x1'],
    ['write', '/top/a/y', 2, 'y1'],
    ['write', '/top/z', 2, 'z1'],
  ])
})

test('what the index did not know is kept by the facts of its deletion, and restored by those of the restore', async (t) => {
  const index = await open(t)
  await index.record({ op: 'delete', path: '/file', size: 9, revision: 'r', keptAs: 'k1' })
  await index.record({ op: 'delete', path: '/folder', keptAs: 'k2' })
  t.match(await index.trash(), [
    { path: '/folder', entry: { type: 'directory', revision: null } },
    { path: '/file', entry: { type: 'file', size: 9, revision: 'r' } },
  ])
  t.same(await index.sums(), [0, 0, 9, 2])
  t.match((await index.journal.read(ada, 0)).map(Object.keys), [
    ['seq', 'id', 'op', 'path', 'at'],
    ['seq', 'id', 'op', 'path', 'at'],
  ])
  const back = { op: 'move', staging: 'place', restores: 'nobody knows it' } as const
  await index.record({ ...back, path: '/f', size: 4, revision: 'f' })
  await index.record({ ...back, path: '/d' })
  t.match([await index.at('/f'), await index.at('/d')], [{ size: 4, revision: 'f' }, { type: 'directory' }])
})

test('kept entries go with their files: by number, with their user, and after the sweep of a folder', async (t) => {
  const index = await open(t)
  for (let folder = 0; folder < 3; folder += 1)
    for (let file = 0; file < 3; file += 1) {
      await index.write(`/a/${folder}/${file}`, 'one')
      await index.write(`/a/${folder}/${file}`, 'two', { keptAs: `v${folder}${file}`, maker: phone })
    }
  await index.record({ op: 'delete', path: '/a', keptAs: 'k1' })
  const all = async () => (await index.reader()).versionsAfter({ of: 0, number: 0 }, 100)
  const orphans = async () => (await all()).filter(({ isOrphan }) => isOrphan).length
  t.same([(await all()).length, await orphans()], [9, 0])
  const first = (await index.reader()).versionsAfter({ of: 0, number: 0 }, 4)
  const rest = (await index.reader()).versionsAfter(first.at(-1) ?? { of: 0, number: 0 }, 100)
  t.same([...first, ...rest], await all(), 'pages miss nothing')
  const [item] = await index.trash()
  const time = Date.now() + 1000
  const start = { at: 0, number: 0 }
  t.match((await index.reader()).deletedBefore(time, start, 10), [{ number: item?.number }])
  t.same((await index.reader()).deletedBefore(time, item ?? start, 10), [])
  t.same((await index.reader()).deletedBefore(0, start, 10), [])
  t.same(names((await index.reader()).oldest(ada, 0, 3)), ['v00', 'v01', 'v02'])
  await index.journal.index({ kind: 'forget-kept', number: item?.number ?? 0 })
  await index.journal.index({ kind: 'forget-kept', number: item?.number ?? 0 })
  t.same(await index.trash(), [])
  while ((await orphans()) < 9) await index.journal.probe()
  for (const { number } of await all()) await index.journal.index({ kind: 'forget-kept', number })
  t.same(await all(), [])
  t.same(await index.sums(), [0, 0, 0, 0])
  t.same((await index.reader()).users(), [])
  await index.write('/b', 'one')
  await index.write('/b', 'two', { keptAs: 'v1' })
  await index.record({ op: 'delete', path: '/b', keptAs: 'k2' })
  await index.journal.erase(ada)
  t.same([await all(), await index.trash(), (await index.reader()).users()], [[], [], []])
})

test('a comparison adopts what nobody knew, and drops what is gone', async (t) => {
  const index = await open(t)
  const tree = await index.journal.index({ kind: 'tree', user: ada, storage: 'local' })
  const file: FoundEntry = { type: 'file', size: 2, revision: 'r', modified: 5, listed: null }
  const folder: FoundEntry = { type: 'directory', size: 0, revision: null, modified: null, listed: null }
  const put = (...entries: PlacedEntry[]) => index.journal.index({ kind: 'put-kept', tree, entries })
  await put([['k1'], folder], [['k1', 'in', 'file'], file], [['k2'], file])
  t.match(await index.trash(), [
    { path: '/k2', of: null, maker: null, entry: { type: 'file', size: 2, modified: 5 } },
    { path: '/k1', entry: { type: 'directory', below: 2 } },
  ])
  await put([['k2'], { ...file, size: 3 }], [['k1', 'in', 'file'], null])
  t.same(await index.sums(), [0, 0, 3, 3])
  t.same(await index.journal.read(ada, 0), [], 'nothing of it is a change')
  await index.write('/f', 'four')
  await index.record({ op: 'delete', path: '/f', keptAs: 'k2' })
  t.match(await index.trash(), [{ path: '/f', entry: { name: 'k2', size: 4 } }, { path: '/k1' }])
  await put([['k1'], null], [['k2'], null])
  t.same(await index.trash(), [])
  t.same(await index.sums(), [0, 0, 0, 0])
})
