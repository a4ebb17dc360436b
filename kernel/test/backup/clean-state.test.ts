import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'tap'
import { cleanedTables } from '../../src/backup/clean-state.ts'
import { databaseSchema } from '../../src/state/database-schema.ts'
import { applySchema } from '../../src/state/schema.ts'

test('it is decided for every table of the kernel what a backup keeps of it', async (t) => {
  const connection = new DatabaseSync(join(t.testdir(), 'state.sqlite'))
  t.teardown(() => connection.close())
  applySchema(connection, databaseSchema)
  const tables = connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").all()
  // A new table that gives access, or is short-lived, needs a statement that removes its rows from backups.
  t.strictSame(
    Object.keys(cleanedTables).sort(),
    tables.map(({ name }) => name),
  )
})
