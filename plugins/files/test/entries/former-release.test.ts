import { readFileSync } from 'node:fs'
import { readdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { type Test, test } from 'tap'
import type { ChangeIntent } from '../../src/journal/change.ts'
import { type Journal, openJournal } from '../../src/journal/journal.ts'
import { captureServices } from '../fixtures/captured-services.ts'
import { createFilesNode, journalOf, put } from '../fixtures/files-node.ts'
import { version } from '../journal/fixtures/temporary-journal.ts'

const born = new Date('2001-02-03T04:05:06.789Z')

/** Opens a journal as the plugin does, with the files of a storage that tells its id. */
async function open(t: Test, file: string): Promise<Journal> {
  const journal = await openJournal(file)
  t.teardown(() => journal.close())
  await journal.index({ kind: 'set-storage', name: 'local', storageId: 'of a disk' })
  return journal
}

/** Completes the index of a user, whose storage has nothing. */
async function complete(journal: Journal, user: string): Promise<void> {
  const tree = await journal.index({ kind: 'tree', user, storage: 'local' })
  await journal.index({ kind: 'complete', tree, at: 1 })
}

async function isComplete(journal: Journal, user: string): Promise<boolean | undefined> {
  return (await journal.entriesOf(user)).tree(user, 'local')?.isComplete
}

/** The statements of the release before the index. */
function former(file: string) {
  const connection = new DatabaseSync(file)
  const insert = connection.prepare(
    `INSERT INTO changes (user, op, path, source, size, revision, by, created, at, staging)
     VALUES (?, ?, ?, NULL, NULL, NULL, NULL, NULL, 1, ?)`,
  )
  const commit = connection.prepare('UPDATE changes SET pending = 0 WHERE seq = ? AND pending = 1')
  const run = (user: string, op: string, path: string, staging: string | null = null) =>
    Number(insert.run(user, op, path, staging).lastInsertRowid)
  return {
    connection,
    begin: run,
    record: (user: string, op: string, path: string, staging: string | null = null) =>
      commit.run(run(user, op, path, staging)),
    /** A change of another program. */
    add: (user: string, path: string) =>
      connection
        .prepare(
          "INSERT INTO changes (user, pending, op, path, by, at) VALUES (?, 0, 'delete', ?, 'disk', 1)",
        )
        .run(user, path),
  }
}

test('the index keeps the dates of creation of the release before it', async (t) => {
  const file = `${t.testdir()}/journal.sqlite`
  const before = new DatabaseSync(file)
  for (const number of [7, 8])
    before.exec(readFileSync(join(import.meta.dirname, `../journal/fixtures/journal-${number}.sql`), 'utf8'))
  before.prepare("INSERT INTO created VALUES ('ada', '/in', 'a', 'r9', ?)").run(born.getTime())
  before.prepare("INSERT INTO created VALUES ('ada', '/in', 'restored', '\"7 1000', ?)").run(born.getTime())
  before.close()
  const journal = await open(t, file)
  t.strictSame(await journal.createdOf('ada', '/in/a', version('r9')), born)
  t.equal(await journal.createdOf('ada', '/in/a', version('another')), null)
  const restored = { revision: 'r10', size: 7, modified: new Date(1000) }
  t.strictSame(await journal.createdOf('ada', '/in/restored', restored), born)
  t.equal(await isComplete(journal, 'ada'), false, 'nobody trusts the entries before a comparison')
})

test('what a former release writes after a rollback is compared before anybody trusts the entries', async (t) => {
  const file = `${t.testdir()}/journal.sqlite`
  const users = ['writes', 'moves others’ changes away', 'begins', 'stages', 'deletes by disk', 'rests']
  const [writes = '', prunes = '', begins = '', stages = '', deletes = '', rests = ''] = users
  const journal = await open(t, file)
  for (const user of users) await complete(journal, user)
  t.same(await Promise.all(users.map((user) => isComplete(journal, user))), Array(6).fill(true))
  await journal.close()

  const old = former(file)
  old.record(writes, 'mkdir', '/a')
  old.connection.prepare("INSERT INTO created VALUES (?, '/', 'a', 'r1', ?)").run(writes, born.getTime())
  old.record(prunes, 'mkdir', '/a')
  old.connection.prepare('DELETE FROM changes WHERE user = ?').run(prunes)
  old.begin(begins, 'mkdir', '/a')
  old.record(stages, 'mkdir', '/.moving-1', 'begin')
  old.add(deletes, '/a')
  old.connection.close()

  const again = await open(t, file)
  const trusted = await Promise.all(users.map((user) => isComplete(again, user)))
  t.same(trusted, [false, false, true, true, false, true])
  t.strictSame(await again.createdOf(writes, '/a', version('r1')), born)
  await again.resolve((await again.pending())[0]?.seq ?? 0, 'commit')
  t.equal((await again.entriesOf(begins)).at(begins, '/a')?.type, 'directory', 'this release has resolved it')
  t.equal(await isComplete(again, begins), true)
  await complete(again, rests)
  await (await again.begin({ userUuid: rests, op: 'mkdir', path: '/own' })).commit()
  await again.add([{ userUuid: rests, op: 'delete', path: '/own', by: 'disk' }])
  t.equal(await isComplete(again, rests), true, 'its own changes leave the index complete')
})

test('what is kept survives a former release, and goes with a user whom that erases', async (t) => {
  const file = `${t.testdir()}/journal.sqlite`
  const journal = await open(t, file)
  const record = async (userUuid: string, change: Omit<ChangeIntent, 'userUuid'>) =>
    (await journal.begin({ userUuid, ...change })).commit()
  for (const user of ['ada', 'erased']) {
    await record(user, { op: 'write', path: '/a/f', size: 3, revision: 'one' })
    await record(user, { op: 'write', path: '/a/f', size: 4, revision: 'two', keptAs: 'version' })
    await record(user, { op: 'delete', path: '/a', keptAs: 'item' })
    await record(user, { op: 'write', path: '/b', size: 1, revision: 'b' })
    await complete(journal, user)
  }
  const unfinished = await journal.begin({ userUuid: 'ada', op: 'delete', path: '/b', keptAs: 'of a crash' })
  await journal.close()

  // The statements with which the release before resolves a change, and erases a user.
  const former = new DatabaseSync(file)
  former.prepare('UPDATE changes SET pending = 0, indexed = 1 WHERE seq = ?').run(unfinished.seq)
  former.exec(`
    DELETE FROM entries WHERE name = 'b' AND tree = (SELECT id FROM trees WHERE user = 'ada');
    UPDATE entries SET size = size - 1, below = below - 1 WHERE id = (SELECT root FROM trees WHERE user = 'ada');
    DELETE FROM entries WHERE id IN (SELECT id FROM entries WHERE tree IN (SELECT id FROM trees WHERE user = 'erased'));
    DELETE FROM trees WHERE user = 'erased';`)
  former.close()

  const again = await open(t, file)
  const kept = await again.keptOf('ada')
  t.same(kept.users(), ['ada'])
  t.same(
    kept.oldest('ada', 0, 10).map(({ path, entry }) => [path, entry.name, entry.size]),
    [
      ['/a/f', 'version', 3],
      ['/a', 'item', 4],
    ],
  )
  t.match(kept.sums('ada'), [{ bytes: 0, entries: 0, keptBytes: 7, keptEntries: 3, isComplete: true }])
  t.same(kept.oldest('erased', 0, 10), [])
  const rows = new DatabaseSync(file, { readOnly: true })
  t.same(rows.prepare("SELECT * FROM kept_entries WHERE user = 'erased'").all(), [])
  rows.close()
})

test('the file of the former index goes at the start, and so do entries of users whom a former release erased', async (t) => {
  const dataFolder = t.testdir()
  const first = await createFilesNode({}, { dataFolder })
  const ada = await first.signIn()
  await put(ada, '/of ada', 'x')
  await first.stop()
  const file = journalOf(dataFolder)
  const former = new DatabaseSync(file)
  const tree = former.prepare(
    "INSERT INTO trees (user, storage, storage_id, root, complete, compared) VALUES ('erased', 'local', 'x', 5, 1, 1)",
  )
  const { lastInsertRowid: id } = tree.run()
  former
    .prepare(
      "INSERT INTO entries (id, tree, name, type, size, below, stamp) VALUES (5, ?, '', 'directory', 0, 1, 1), (6, ?, 'of nobody', 'directory', 0, 0, 1)",
    )
    .run(id, id)
  former.close()
  for (const end of ['', '-wal', '.damaged'])
    await writeFile(join(dirname(file), `index.sqlite${end}`), 'of ada')
  const services = captureServices()
  const node = await createFilesNode({}, { dataFolder, plugins: [services.plugin] })
  t.teardown(() => node.stop())
  const names = () => {
    const connection = new DatabaseSync(file, { readOnly: true })
    const rows = connection.prepare("SELECT name FROM entries WHERE name <> '' ORDER BY name").all()
    connection.close()
    return rows.map(({ name }) => String(name))
  }
  while (names().includes('of nobody')) await delay(10)
  t.strictSame(names(), ['of ada'])
  t.notOk((await readdir(dirname(file))).find((name) => name.startsWith('index')))
})
