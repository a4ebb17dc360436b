import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expansionProblems } from '@nodekeep/kernel/testing'
import { test } from 'tap'
import { openJournal } from '../../src/journal/journal.ts'
import { openJournalFile } from '../../src/journal/journal-file.ts'

/** The tables, with their columns and indexes. */
function structureOf(file: string): unknown[] {
  const connection = new DatabaseSync(file)
  const columns = `SELECT m.name AS "table", c.name, c.type, c."notnull", c.dflt_value, c.pk, c.hidden
    FROM sqlite_schema m, pragma_table_xinfo(m.name) c WHERE m.type IN ('table', 'index') ORDER BY 1, 2`
  const found = connection.prepare(columns).all()
  connection.close()
  return found
}

test('a journal of the first release is only expanded, and then has the tables of a new one', async (t) => {
  const folder = t.testdir()
  const [old, fresh] = [join(folder, 'old.sqlite'), join(folder, 'new.sqlite')]
  const connection = new DatabaseSync(old)
  connection.exec(readFileSync(join(import.meta.dirname, 'fixtures/journal-7.sql'), 'utf8'))
  connection.close()
  t.same(
    expansionProblems(old, () => openJournalFile(old).close()),
    [],
  )
  openJournalFile(fresh).close()
  t.same(structureOf(old), structureOf(fresh))
  const journal = await openJournal(old)
  t.teardown(() => journal.close())
  const id = /^[0-9a-f]+$/
  t.match(await journal.read('ada', 0), [
    { path: '/a', by: 'laptop', id },
    { path: '/b', source: '/a', id },
  ])
})

for (const versions of [
  [7, 8, 9],
  [7, 8, 9, 10],
]) {
  test(`a journal of version ${versions.at(-1)} is only expanded, and then has the tables of a new one`, async (t) => {
    const folder = t.testdir()
    const [old, fresh] = [join(folder, 'old.sqlite'), join(folder, 'new.sqlite')]
    const former = new DatabaseSync(old)
    for (const version of versions)
      former.exec(readFileSync(join(import.meta.dirname, `fixtures/journal-${version}.sql`), 'utf8'))
    former.close()
    t.same(
      expansionProblems(old, () => openJournalFile(old).close()),
      [],
    )
    openJournalFile(fresh).close()
    t.same(structureOf(old), structureOf(fresh))
  })
}

test('a journal of a release before the index is only expanded, and its changes have no maker', async (t) => {
  const file = `${t.testdir()}/journal.sqlite`
  const former = new DatabaseSync(file)
  for (const version of [7, 8])
    former.exec(readFileSync(join(import.meta.dirname, `fixtures/journal-${version}.sql`), 'utf8'))
  former.exec("DELETE FROM changes WHERE user = 'ada'")
  const insert =
    "INSERT INTO changes (user, pending, op, path, by, at) VALUES ('ada', 0, 'mkdir', ?, 'laptop', 1)"
  former.prepare(insert).run('/before')
  former.close()
  t.same(
    expansionProblems(file, () => openJournalFile(file).close()),
    [],
  )
  const origin = { maker: { kind: 'plugin', id: 'backup' }, group: 'restore' } as const
  const record = async (path: string) => {
    const journal = await openJournal(file)
    await (await journal.begin({ userUuid: 'ada', op: 'mkdir', path, ...origin })).commit()
    await journal.close()
  }
  await record('/first')
  const again = new DatabaseSync(file)
  again.prepare(insert).run('/former runs again')
  again.close()
  await record('/second')
  const journal = await openJournal(file)
  t.teardown(() => journal.close())
  const rows = (await journal.read('ada', 0)).map(({ seq, id, at, op, ...rest }) => rest)
  t.strictSame(rows, [
    { path: '/before', by: 'laptop' },
    { path: '/first', ...origin },
    { path: '/former runs again', by: 'laptop' },
    { path: '/second', ...origin },
  ])
})

test('changes of a former release that runs on the same journal have ids too', async (t) => {
  const file = `${t.testdir()}/journal.sqlite`
  openJournalFile(file).close()
  const former = new DatabaseSync(file)
  const insert = former.prepare(
    "INSERT INTO changes (user, pending, op, path, at) VALUES ('ada', 0, 'mkdir', ?, ?)",
  )
  for (const path of ['/a', '/b']) insert.run(path, 1)
  former.close()
  const journal = await openJournal(file)
  t.teardown(() => journal.close())
  const ids = (await journal.read('ada', 0)).map(({ seq, id }) => {
    t.equal(journal.idOf('ada', seq), id)
    t.equal(journal.idOf('bob', seq), null, 'the change is none of another user')
    return id
  })
  t.equal(new Set(ids).size, 2, 'each id is another one, also of changes of one moment')
})

test('a journal that a newer version expanded is used, and one that it contracted is refused', async (t) => {
  const file = `${t.testdir()}/journal.sqlite`
  const journal = await openJournal(file)
  await (await journal.begin({ userUuid: 'a', op: 'mkdir', path: '/before' })).commit()
  await journal.close()
  const change = (statements: string) => {
    const connection = new DatabaseSync(file)
    connection.exec(statements)
    connection.close()
  }
  change('ALTER TABLE changes ADD COLUMN color TEXT; PRAGMA user_version = 1000')
  const former = await openJournal(file)
  await (await former.begin({ userUuid: 'a', op: 'mkdir', path: '/after' })).commit()
  t.match(await former.read('a', 0), [{ path: '/before' }, { path: '/after' }])
  await former.close()
  change('UPDATE journal SET oldest_usable = 1000')
  await t.rejects(openJournal(file), /written by a newer version of Nodekeep; start that version/)
})

test('a journal that was written before the first release is refused, and left alone', async (t) => {
  const file = `${t.testdir()}/journal.sqlite`
  const former = new DatabaseSync(file)
  former.exec(
    "CREATE TABLE journal (epoch TEXT); INSERT INTO journal VALUES ('old'); PRAGMA user_version = 6",
  )
  await t.rejects(openJournal(file), /never released. Check .*journal.sqlite/)
  t.match(former.prepare('SELECT * FROM journal').all(), [{ epoch: 'old' }])
  former.close()
})
