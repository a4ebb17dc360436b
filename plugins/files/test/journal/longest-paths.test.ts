import { randomUUID } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'tap'
import { openJournal } from '../../src/journal/journal.ts'
import { temporaryJournal } from './fixtures/temporary-journal.ts'

const usual = 1024

test('no path of a user is longer than the journal says', async (t) => {
  const journal = await temporaryJournal(t)
  const [ada, bob] = [randomUUID(), randomUUID()]
  const begin = (path: string, longest?: number) =>
    journal.begin({ userUuid: ada, op: 'move', path, ...(longest !== undefined && { longest }) })
  t.equal(await journal.longestOf(ada), usual)
  await begin(`/${'x'.repeat(usual)}`)
  t.equal(await journal.longestOf(ada), usual + 1, 'from the moment when it may be')
  await begin('/short')
  t.equal(await journal.longestOf(ada), usual + 1)
  await begin(`/${'ü'.repeat(600)}`)
  t.equal(await journal.longestOf(ada), 1201, 'in bytes')
  await (await begin('/a', 4000)).discard()
  t.equal(await journal.longestOf(ada), 4000, 'and of what moves along')
  t.equal(await journal.longestOf(bob), usual)
  await journal.erase(ada)
  t.equal(await journal.longestOf(ada), usual)
})

test('a journal of the first version is asked what paths it has', async (t) => {
  const file = `${t.testdir()}/journal.sqlite`
  const ada = randomUUID()
  const before = await openJournal(file)
  await (await before.begin({ userUuid: ada, op: 'mkdir', path: `/${'x'.repeat(2000)}` })).commit()
  const { epoch } = before
  await before.close()
  const connection = new DatabaseSync(file)
  connection.exec('DROP TABLE longest; PRAGMA user_version = 1')
  connection.close()
  const after = await openJournal(file)
  t.equal(after.epoch, epoch)
  t.equal(await after.longestOf(ada), 2001)
  t.equal((await after.read(ada, 0)).length, 1)
  await after.close()
})
