import { randomUUID } from 'node:crypto'
import { copyFileSync, existsSync, renameSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { expansionProblems } from '@nodekeep/kernel/testing'
import { test } from 'tap'
import { openJournal } from '../../src/journal/journal.ts'
import { openJournalFile } from '../../src/journal/journal-file.ts'
import { captureServices } from '../fixtures/captured-services.ts'
import { createFilesNode, journalOf, put } from '../fixtures/files-node.ts'

/** Before version 6, a journal did not tell which programs can use it. Before version 7, staged copies were like others. */
const version6 = `DROP INDEX shown_changes; DROP INDEX staged_changes; ALTER TABLE changes DROP COLUMN staging;
  ALTER TABLE staged_moves DROP COLUMN shown;`
const version5 = `${version6} ALTER TABLE journal DROP COLUMN oldest_usable;`

/** Turns a journal into one of an older version of the schema. */
const downgrades: Record<number, string> = {
  1: `${version5} DROP TABLE staged_moves; DROP TABLE kept;`,
  2: `${version5} DROP TABLE staged_moves; DROP TABLE kept;
    CREATE TABLE longest (user TEXT PRIMARY KEY, bytes INTEGER NOT NULL) STRICT, WITHOUT ROWID;`,
  3: `${version5} ALTER TABLE staged_moves RENAME TO stopovers; DROP TABLE kept;
    CREATE TABLE longest (user TEXT PRIMARY KEY, bytes INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    INSERT INTO longest VALUES ('a', 2000);`,
  4: `${version5} DROP TABLE kept;`,
  5: version5,
  6: version6,
}

for (const [version, downgrade] of Object.entries(downgrades)) {
  test(`a journal of version ${version} opens with everything in it`, async (t) => {
    const folder = t.testdir()
    const file = `${folder}/journal.sqlite`
    const userUuid = randomUUID()
    const before = await openJournal(file)
    const staged = await before.begin({ userUuid, op: 'mkdir', path: '/.moving-0', staging: 'begin' })
    await staged.commit()
    const other = await before.begin({ userUuid, op: 'write', path: '/.moving-00' })
    await other.commit()
    const { epoch } = before
    await before.close()
    const connection = new DatabaseSync(file)
    connection.exec(`${downgrade} PRAGMA user_version = ${version}`)
    connection.close()
    writeFileSync(`${folder}/journal.ballast`, 'x')

    const after = await openJournal(file)
    t.equal(after.epoch, epoch)
    const knowsCopies = Number(version) >= 3
    t.strictSame(await after.stagedMoves(), knowsCopies ? [{ userUuid, path: '/.moving-0' }] : [])
    const shown = [
      { op: 'mkdir', path: '/.moving-0' },
      { op: 'write', path: '/.moving-00' },
    ]
    const abandoning = { userUuid, op: 'delete', path: '/.moving-0', staging: 'abandon' } as const
    if (knowsCopies) shown.push({ op: 'delete', path: '/.moving-0' })
    if (knowsCopies) await (await after.begin(abandoning)).commit()
    const changes = await after.read(userUuid, 0)
    t.strictSame(
      changes.map(({ op, path }) => ({ op, path })),
      shown,
      'readers saw the copy, so they see that it is removed',
    )
    await after.erase(userUuid)
    t.strictSame(await after.read(userUuid, 0), [])
    await after.close()
    t.notOk(existsSync(`${folder}/journal.ballast`), 'the reserve file of older versions is removed')
    const again = await openJournal(file)
    t.equal(again.epoch, epoch, 'it opens again')
    await again.close()
  })
}

for (const version of [4, 5, 6] as const) {
  test(`the step from version ${version} only adds`, async (t) => {
    const file = `${t.testdir()}/journal.sqlite`
    const journal = await openJournal(file)
    await (await journal.begin({ userUuid: 'a', op: 'mkdir', path: '/.moving-0', staging: 'begin' })).commit()
    await journal.close()
    const connection = new DatabaseSync(file)
    connection.exec(`${downgrades[version]} PRAGMA user_version = ${version}`)
    connection.close()
    t.strictSame(
      expansionProblems(file, () => openJournalFile(file).close()),
      [],
    )
  })
}

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

for (const interrupted of [false, true]) {
  test(`a former journal in the data folder is moved${interrupted ? ', also after a crash in between' : ''}`, async (t) => {
    const dataFolder = t.testdir({ former: {} })
    const former = `${dataFolder}/journal.sqlite`
    const userUuid = randomUUID()
    const journal = await openJournal(former)
    await (await journal.begin({ userUuid, op: 'mkdir', path: '/folder' })).commit()
    // The copies are those of a node that was killed: the change is in the log only.
    for (const suffix of ['', '-wal'])
      copyFileSync(former + suffix, `${dataFolder}/former/journal.sqlite${suffix}`)
    const { epoch } = journal
    await journal.close()
    for (const suffix of ['', '-wal'])
      renameSync(`${dataFolder}/former/journal.sqlite${suffix}`, former + suffix)
    if (interrupted) renameSync(`${former}-wal`, `${journalOf(dataFolder)}-wal`)

    for (const start of ['first', 'second']) {
      const services = captureServices()
      const node = await createFilesNode({}, { dataFolder, plugins: [services.plugin] })
      t.equal(services.changes.epoch, epoch, `${start} start`)
      t.match(await services.changes.read(userUuid, 0, 1), [{ op: 'mkdir', path: '/folder' }])
      if (start === 'first') t.equal((await put(await node.signIn(), '/a', 'a')).status, 200)
      await node.stop()
    }
    t.notOk(existsSync(former))
    t.ok(existsSync(journalOf(dataFolder)))
  })
}
