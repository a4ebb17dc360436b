// In a process of its own: all tests share a journal, which is closed when they have ended.
import { randomUUID } from 'node:crypto'
import t, { test } from 'tap'
import type { ChangeIntent } from '../../src/journal/change.ts'
import { temporaryJournal, version } from './fixtures/temporary-journal.ts'

const journal = await temporaryJournal(t)
const born = new Date('2001-02-03T04:05:06.789Z')

async function change(userUuid: string, intent: Omit<ChangeIntent, 'userUuid'>) {
  const { commit } = await journal.begin({ userUuid, ...intent })
  await commit()
}

async function overwrite(userUuid: string, path: string): Promise<void> {
  await change(userUuid, { op: 'write', path, revision: `of ${path}`, created: born })
}

test('an overwritten file keeps its creation date, for exactly one revision', async (t) => {
  const [ada, bob] = [randomUUID(), randomUUID()]
  await overwrite(ada, '/a')
  t.strictSame(await journal.createdOf(ada, '/a', version('of /a')), born)
  t.equal(await journal.createdOf(ada, '/a', version('of another')), null)
  t.equal(await journal.createdOf(bob, '/a', version('of /a')), null)
  t.equal(await journal.createdOf(ada, '/b', version('of /a')), null)
})

test('the date is valid as soon as the change is committed', async (t) => {
  const ada = randomUUID()
  const intent = { userUuid: ada, op: 'write', path: '/a', revision: '1', created: born } as const
  const dropped = await journal.begin(intent)
  t.equal(await journal.createdOf(ada, '/a', version('1')), null)
  await dropped.discard()
  t.equal(await journal.createdOf(ada, '/a', version('1')), null)
  const kept = await journal.begin(intent)
  await journal.resolve(kept.seq, 'commit')
  t.strictSame(await journal.createdOf(ada, '/a', version('1')), born)
})

test('readers see every outcome that was recorded before, even without waiting for it', async (t) => {
  const ada = randomUUID()
  for (let round = 1; round <= 20; round += 1) {
    const intent = { userUuid: ada, op: 'write', path: `/${round}`, revision: '1', created: born } as const
    const { seq, commit } = await journal.begin(intent)
    const ended = commit()
    if (round % 3 === 0) t.equal(await journal.head(ada), seq)
    if (round % 3 === 1) t.strictSame(await journal.createdOf(ada, `/${round}`, version('1')), born)
    if (round % 3 === 2) t.equal((await journal.read(ada, 0)).at(-1)?.seq, seq)
    await ended
  }
  t.equal((await journal.createdIn(ada, '/', 20))?.size, 20)
})

test('a new file at an old path gets a new creation date', async (t) => {
  const ada = randomUUID()
  await overwrite(ada, '/a')
  await change(ada, { op: 'delete', path: '/a' })
  t.equal(await journal.createdOf(ada, '/a', version('of /a')), null)
  await overwrite(ada, '/a')
  await change(ada, { op: 'write', path: '/a', revision: 'new' })
  t.equal(await journal.createdOf(ada, '/a', version('of /a')), null)
})

const inside = ['/folder/a', '/folder/inner/b', '/folder/inner/deep/c', '/folder/ü 🗝/_', '/folder/%']
const outside = ['/folder-2/a', '/folder.txt', '/folder0/a', '/folders', '/f', '/Folder/a', '/folder!/a']

test('the removal of a folder removes the dates below it, and no others', async (t) => {
  const [ada, bob] = [randomUUID(), randomUUID()]
  for (const path of [...inside, ...outside]) await overwrite(ada, path)
  await overwrite(bob, '/folder/a')
  await change(ada, { op: 'delete', path: '/folder' })
  for (const path of inside) t.equal(await journal.createdOf(ada, path, version(`of ${path}`)), null, path)
  for (const path of outside)
    t.strictSame(await journal.createdOf(ada, path, version(`of ${path}`)), born, path)
  t.strictSame(await journal.createdOf(bob, '/folder/a', version('of /folder/a')), born)
})

test('dates move with a folder, and replace those at its new path', async (t) => {
  const ada = randomUUID()
  for (const path of [...inside, ...outside, '/to/ŷ/a', '/to/ŷ/other']) await overwrite(ada, path)
  await change(ada, { op: 'move', source: '/folder', path: '/to/ŷ' })
  for (const path of inside) {
    const moved = path.replace('/folder', '/to/ŷ')
    t.strictSame(await journal.createdOf(ada, moved, version(`of ${path}`)), born, moved)
    t.equal(await journal.createdOf(ada, path, version(`of ${path}`)), null, path)
  }
  t.equal(await journal.createdOf(ada, '/to/ŷ/a', version('of /to/ŷ/a')), null)
  t.equal(await journal.createdOf(ada, '/to/ŷ/other', version('of /to/ŷ/other')), null)
  for (const path of outside)
    t.strictSame(await journal.createdOf(ada, path, version(`of ${path}`)), born, path)
})

test('a file keeps its date when it moves, also onto another file and to the root', async (t) => {
  const ada = randomUUID()
  for (const path of ['/x/a', '/b']) await overwrite(ada, path)
  await change(ada, { op: 'move', source: '/x/a', path: '/b' })
  t.strictSame(await journal.createdOf(ada, '/b', version('of /x/a')), born)
  t.equal(await journal.createdOf(ada, '/b', version('of /b')), null)
  t.equal(await journal.createdOf(ada, '/x/a', version('of /x/a')), null)
})

test('a move can set the creation date, for a copy to another backend', async (t) => {
  const ada = randomUUID()
  await change(ada, { op: 'move', source: '/a', path: '/b', revision: 'copy', created: born })
  t.strictSame(await journal.createdOf(ada, '/b', version('copy')), born)
})

test('the dates of a folder are read together', async (t) => {
  const [ada, bob] = [randomUUID(), randomUUID()]
  for (const path of ['/a', '/folder/b', '/folder/c', '/folder/inner/d']) await overwrite(ada, path)
  const dates = async (user: string, folder: string) => {
    const found = [...((await journal.createdIn(user, folder, 2)) ?? [])]
    return Object.fromEntries(
      found.map(([name, { revision, created }]) => [name, { revision, created: new Date(created) }]),
    )
  }
  t.strictSame(await dates(ada, '/'), { a: { revision: 'of /a', created: born } })
  t.strictSame(await dates(ada, '/folder'), {
    b: { revision: 'of /folder/b', created: born },
    c: { revision: 'of /folder/c', created: born },
  })
  t.equal(await journal.createdIn(ada, '/folder', 1), null, 'more dates than are wanted')
  t.strictSame(await dates(ada, '/none'), {})
  t.strictSame(await dates(bob, '/folder'), {})
})
