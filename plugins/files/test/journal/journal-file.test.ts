import { DatabaseSync } from 'node:sqlite'
import { test } from 'tap'
import { openJournal } from '../../src/journal/journal.ts'

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
