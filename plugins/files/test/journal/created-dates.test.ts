import { test } from 'tap'
import type { ChangeIntent, Journal } from '../../src/journal/journal.ts'
import { temporaryJournal } from './fixtures/temporary-journal.ts'

const ada = '6f0b0b4e-6d0c-4a53-9d6b-0d7a6d1b8c11'
const bob = '0d9b4c7e-31b0-4a0e-8f0f-7e6a0f8f3b22'
const born = new Date('2001-02-03T04:05:06.789Z')

async function change(journal: Journal, intent: Omit<ChangeIntent, 'userUuid'>, userUuid = ada) {
  const { commit } = await journal.begin({ userUuid, ...intent })
  await commit()
}

async function overwrite(journal: Journal, path: string, userUuid = ada): Promise<void> {
  await change(journal, { op: 'write', path, revision: `of ${path}`, created: born }, userUuid)
}

test('an overwritten file keeps its date, for exactly its revision', async (t) => {
  const journal = await temporaryJournal(t)
  await overwrite(journal, '/a')
  t.strictSame(await journal.createdOf(ada, '/a', 'of /a'), born)
  t.equal(await journal.createdOf(ada, '/a', 'of another'), null)
  t.equal(await journal.createdOf(bob, '/a', 'of /a'), null)
  t.equal(await journal.createdOf(ada, '/b', 'of /a'), null)
})

test('the date counts from the commit on', async (t) => {
  const journal = await temporaryJournal(t)
  const intent = { userUuid: ada, op: 'write', path: '/a', revision: '1', created: born } as const
  const dropped = await journal.begin(intent)
  t.equal(await journal.createdOf(ada, '/a', '1'), null)
  await dropped.discard()
  t.equal(await journal.createdOf(ada, '/a', '1'), null)
  const kept = await journal.begin(intent)
  await journal.resolve(kept.seq, 'commit')
  t.strictSame(await journal.createdOf(ada, '/a', '1'), born)
})

test('a new file in an old place begins anew', async (t) => {
  const journal = await temporaryJournal(t)
  await overwrite(journal, '/a')
  await change(journal, { op: 'delete', path: '/a' })
  t.equal(await journal.createdOf(ada, '/a', 'of /a'), null)
  await overwrite(journal, '/a')
  await change(journal, { op: 'write', path: '/a', revision: 'new' })
  t.equal(await journal.createdOf(ada, '/a', 'of /a'), null)
})

const inside = ['/folder/a', '/folder/inner/b', '/folder/inner/deep/c', '/folder/ü 🗝/_', '/folder/%']
const outside = ['/folder-2/a', '/folder.txt', '/folder0/a', '/folders', '/f', '/Folder/a', '/folder!/a']

test('a removed folder takes the dates below it, and no others', async (t) => {
  const journal = await temporaryJournal(t)
  for (const path of [...inside, ...outside]) await overwrite(journal, path)
  await overwrite(journal, '/folder/a', bob)
  await change(journal, { op: 'delete', path: '/folder' })
  for (const path of inside) t.equal(await journal.createdOf(ada, path, `of ${path}`), null, path)
  for (const path of outside) t.strictSame(await journal.createdOf(ada, path, `of ${path}`), born, path)
  t.strictSame(await journal.createdOf(bob, '/folder/a', 'of /folder/a'), born)
})

test('dates move with a folder, over what was at its new place', async (t) => {
  const journal = await temporaryJournal(t)
  for (const path of [...inside, ...outside, '/to/ŷ/a', '/to/ŷ/other']) await overwrite(journal, path)
  await change(journal, { op: 'move', source: '/folder', path: '/to/ŷ' })
  for (const path of inside) {
    const moved = path.replace('/folder', '/to/ŷ')
    t.strictSame(await journal.createdOf(ada, moved, `of ${path}`), born, moved)
    t.equal(await journal.createdOf(ada, path, `of ${path}`), null, path)
  }
  t.equal(await journal.createdOf(ada, '/to/ŷ/a', 'of /to/ŷ/a'), null)
  t.equal(await journal.createdOf(ada, '/to/ŷ/other', 'of /to/ŷ/other'), null)
  for (const path of outside) t.strictSame(await journal.createdOf(ada, path, `of ${path}`), born, path)
})

test('a single file moves with its date, also onto another one and to the top', async (t) => {
  const journal = await temporaryJournal(t)
  for (const path of ['/x/a', '/b']) await overwrite(journal, path)
  await change(journal, { op: 'move', source: '/x/a', path: '/b' })
  t.strictSame(await journal.createdOf(ada, '/b', 'of /x/a'), born)
  t.equal(await journal.createdOf(ada, '/b', 'of /b'), null)
  t.equal(await journal.createdOf(ada, '/x/a', 'of /x/a'), null)
})

test('a move can say the date itself, for a copy to another backend', async (t) => {
  const journal = await temporaryJournal(t)
  await change(journal, { op: 'move', source: '/a', path: '/b', revision: 'copy', created: born })
  t.strictSame(await journal.createdOf(ada, '/b', 'copy'), born)
})

test('the dates of a folder are asked for at once', async (t) => {
  const journal = await temporaryJournal(t)
  for (const path of ['/a', '/folder/b', '/folder/c', '/folder/inner/d']) await overwrite(journal, path)
  const expected = (names: string[]) => names.map((name) => [name, { revision: `of ${name}`, created: born }])
  t.strictSame(
    [...(await journal.createdIn(ada, '/'))],
    expected(['a']).map(([, value]) => ['a', { ...(value as object), revision: 'of /a' }]),
  )
  t.strictSame([...(await journal.createdIn(ada, '/folder')).keys()].sort(), ['b', 'c'])
  t.strictSame((await journal.createdIn(ada, '/folder')).get('b'), {
    revision: 'of /folder/b',
    created: born,
  })
  t.equal((await journal.createdIn(ada, '/none')).size, 0)
  t.equal((await journal.createdIn(bob, '/folder')).size, 0)
})
