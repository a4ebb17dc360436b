import { randomUUID } from 'node:crypto'
import { existsSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'tap'
import { openJournal } from '../../src/journal/journal.ts'

/** Turns a journal into one of version 3 of the schema, or of an older version. */
const downgrades: Record<number, string> = {
  1: 'DROP TABLE staged_moves; DROP TABLE kept',
  2: `DROP TABLE staged_moves; DROP TABLE kept;
    CREATE TABLE longest (user TEXT PRIMARY KEY, bytes INTEGER NOT NULL) STRICT, WITHOUT ROWID`,
  3: `ALTER TABLE staged_moves RENAME TO stopovers; DROP TABLE kept;
    CREATE TABLE longest (user TEXT PRIMARY KEY, bytes INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    INSERT INTO longest VALUES ('a', 2000)`,
  4: 'DROP TABLE kept',
}

for (const [version, downgrade] of Object.entries(downgrades)) {
  test(`a journal of version ${version} opens with everything in it`, async (t) => {
    const folder = t.testdir()
    const file = `${folder}/journal.sqlite`
    const userUuid = randomUUID()
    const before = await openJournal(file)
    const staged = await before.begin({ userUuid, op: 'mkdir', path: '/.moving-0', isStaging: true })
    await staged.commit()
    const { epoch } = before
    await before.close()
    const connection = new DatabaseSync(file)
    connection.exec(`${downgrade}; PRAGMA user_version = ${version}`)
    connection.close()
    writeFileSync(`${folder}/journal.ballast`, 'x')

    const after = await openJournal(file)
    t.equal(after.epoch, epoch)
    t.match(await after.read(userUuid, 0), [{ seq: staged.seq, path: '/.moving-0' }])
    t.strictSame(await after.stagedMoves(), Number(version) >= 3 ? [{ userUuid, path: '/.moving-0' }] : [])
    await after.erase(userUuid)
    t.strictSame(await after.read(userUuid, 0), [])
    await after.close()
    t.notOk(existsSync(`${folder}/journal.ballast`), 'the reserve file of older versions is removed')
    const again = await openJournal(file)
    t.equal(again.epoch, epoch, 'it opens again')
    await again.close()
  })
}
