import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'tap'
import { databaseSchema } from '../../src/state/database-schema.ts'
import { applySchema } from '../../src/state/schema.ts'
import { expansionProblems } from '../../src/testing/expansion-problems.ts'

/** Rows for the tables of each step. A new step is tested on them, so a step that makes a table needs rows here. */
const rows: Readonly<Record<string, string>> = {
  '1-plugin-state': `
    INSERT INTO state (namespace, key, value, expires) VALUES ('notes', 'a', '{"text":"b"}', NULL), ('notes', 'c', '1', 99);
    INSERT INTO plugin_migrations (plugin, position, id, applied_at) VALUES ('notes', 0, '1-notes', '2026-01-01');`,
  '2-leases': "INSERT INTO leases (name, fence, expires) VALUES ('backup', 3, 99);",
  '3-identity': `
    INSERT INTO users (uuid, username, wallet, owner, created_at) VALUES ('u1', 'ada', '0xA', 1, 5), ('u2', 'bob', '0xB', NULL, 6);
    INSERT INTO logins (provider, provider_uuid, user_uuid, first_at, last_at) VALUES ('siwe', 'p', 'u1', 5, 6);
    INSERT INTO sessions (token_hash, id, user_uuid, kind, label, created_at, last_used_at) VALUES (x'01', 's', 'u1', 'session', '', 5, 6);`,
}

for (const [position, step] of databaseSchema.entries()) {
  if (step.change !== 'expand') continue
  test(`${step.id} is an expansion`, async (t) => {
    const file = join(t.testdir(), 'state.sqlite')
    const connection = new DatabaseSync(file)
    const former = databaseSchema.slice(0, position)
    applySchema(connection, former)
    for (const { id } of former) connection.exec(rows[id] ?? '')
    const tables = connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all()
    for (const { name } of former.length > 0 ? tables : []) {
      t.ok(connection.prepare(`SELECT 1 FROM ${name}`).get(), `${name} has rows`)
    }
    connection.close()
    t.same(expansionProblems(file, step.up), [])
  })
}

test('a database from before changes were recorded is brought up to date', async (t) => {
  const connection = new DatabaseSync(join(t.testdir(), 'state.sqlite'))
  applySchema(connection, databaseSchema.slice(0, -1))
  connection.exec(`${Object.values(rows).join('')} ALTER TABLE kernel_schema DROP COLUMN change`)
  applySchema(connection, databaseSchema)
  t.same(
    connection
      .prepare('SELECT id, change FROM kernel_schema ORDER BY position')
      .all()
      .map((row) => ({ ...row })),
    [
      { id: '1-plugin-state', change: 'contract' },
      { id: '2-leases', change: 'contract' },
      { id: '3-identity', change: 'contract' },
      { id: '4-added-users', change: 'contract' },
      { id: '5-migration-changes', change: 'expand' },
    ],
  )
  connection.close()
})

test('a former version takes a database that was expanded since, and refuses one that was contracted', async (t) => {
  const connection = new DatabaseSync(join(t.testdir(), 'state.sqlite'))
  const more = {
    id: '99-more',
    change: 'expand',
    up: () => connection.exec('CREATE TABLE more (a)'),
  } as const
  const less = { id: '100-less', change: 'contract', up: () => connection.exec('DROP TABLE more') } as const
  applySchema(connection, [...databaseSchema, more])
  applySchema(connection, databaseSchema)
  applySchema(connection, [...databaseSchema, more, less])
  t.throws(() => applySchema(connection, databaseSchema), {
    message: 'migration "100-less" has run, but this version does not know it',
  })
  connection.close()
})
