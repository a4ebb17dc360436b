import { DatabaseSync } from 'node:sqlite'
import { inTransaction } from '@nodekeep/plugin-sdk'
import t, { type Test } from 'tap'

function databaseForTest(t: Test) {
  const database = new DatabaseSync(':memory:')
  t.teardown(() => database.close())
  database.exec('CREATE TABLE entry (name TEXT UNIQUE)')
  const names = () =>
    database
      .prepare('SELECT name FROM entry')
      .all()
      .map(({ name }) => name)
  return {
    database,
    names,
    insert: (name: string) => database.prepare('INSERT INTO entry VALUES (?)').run(name),
  }
}

t.test('all statements are kept, and the result of the work is returned', async (t) => {
  const { database, names, insert } = databaseForTest(t)
  t.equal(
    inTransaction(database, () => {
      insert('a')
      insert('b')
      return 2
    }),
    2,
  )
  t.strictSame(names(), ['a', 'b'])
  t.notOk(database.isTransaction)
})

t.test('if the work or a statement fails, none is kept', async (t) => {
  const { database, names, insert } = databaseForTest(t)
  insert('taken')
  t.throws(
    () =>
      inTransaction(database, () => {
        insert('a')
        insert('taken')
      }),
    /UNIQUE/,
  )
  t.throws(
    () =>
      inTransaction(database, () => {
        insert('b')
        throw new Error('not today')
      }),
    { message: 'not today' },
  )
  t.strictSame(names(), ['taken'])
  inTransaction(database, () => insert('c'))
  t.strictSame(names(), ['taken', 'c'])
})

t.test('when SQLite has rolled back by itself, its error reaches the caller', async (t) => {
  const { database, names, insert } = databaseForTest(t)
  const work = () => {
    insert('a')
    database.prepare("INSERT OR ROLLBACK INTO entry VALUES ('a')").run()
  }
  t.throws(() => inTransaction(database, work), /UNIQUE/)
  t.strictSame(names(), [])
})

t.test('work that waits is refused', async (t) => {
  const { database, names, insert } = databaseForTest(t)
  t.throws(() => inTransaction(database, async () => insert('a')), /must not wait/)
  t.strictSame(names(), [])
})
