import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type Test, test } from 'tap'
import { restoresOf } from '../../src/backup/restores.ts'
import { databaseSchema } from '../../src/state/database-schema.ts'
import { applySchema } from '../../src/state/schema.ts'

const plugins = [{ id: 'notes', version: '1.0.0' }]
const restores = (data: string) =>
  restoresOf(data, { version: '1.2.3', folders: async () => [], plugins: async () => plugins })

/** The database of a backup, as a version of the node has made it. */
function stateOf(folder: string, steps = databaseSchema, more: readonly string[] = []): string {
  const file = join(folder, 'state.sqlite')
  using database = new DatabaseSync(file)
  applySchema(database, steps)
  for (const statement of more) database.exec(statement)
  return file
}

const made = { takenAt: new Date('2026-11-01T03:00:00Z'), nodekeep: '1.2.3', plugins }

async function migrated(t: Test, data: string, file: string, more: Partial<typeof made> = {}) {
  await restores(data).migrateState({ file, ...made, ...more })
  const database = new DatabaseSync(file)
  t.teardown(() => database.close())
  return database
}

test('the state of an earlier version is brought to the present form', async (t) => {
  const root = t.testdir({ data: {}, backup: {} })
  const file = stateOf(join(root, 'backup'), databaseSchema.slice(0, 3), [
    "INSERT INTO users (uuid, username, wallet, created_at) VALUES ('u', 'ada', '0x0', 0)",
  ])
  const database = await migrated(t, join(root, 'data'), file)
  t.equal(database.prepare('SELECT added_at FROM users').get()?.added_at, null)
  t.equal(database.prepare('SELECT count(*) AS n FROM kernel_schema').get()?.n, databaseSchema.length)
})

test('sessions, short-lived state and leases are removed for good', async (t) => {
  const root = t.testdir({ data: {}, backup: {} })
  const soon = made.takenAt.getTime() + 60_000
  const file = stateOf(join(root, 'backup'), databaseSchema, [
    "INSERT INTO users (uuid, username, wallet, created_at) VALUES ('u', 'ada', '0x0', 0)",
    "INSERT INTO sessions VALUES (x'00', 'i', 'u', 'session', 'l', NULL, 0, 0, NULL)",
    `INSERT INTO state VALUES ('notes', 'nonce', '1', ${soon}), ('notes', 'kept', '1', NULL)`,
    "INSERT INTO leases VALUES ('l', 4, 9000000000000)",
  ])
  const database = await migrated(t, join(root, 'data'), file)
  t.strictSame(database.prepare('SELECT * FROM sessions').all(), [])
  t.match(database.prepare('SELECT key FROM state').all(), [{ key: 'kept' }])
  t.match(database.prepare('SELECT fence, expires FROM leases').all(), [{ fence: 4, expires: 0 }])
})

test('a newer plugin may have contracted its data, unless this node has done the same', async (t) => {
  const root = t.testdir({ data: {}, backup: {} })
  const step = (id: string, change: string) =>
    `INSERT INTO plugin_migrations VALUES ('notes', ${id.length}, '${id}', '', '${change}')`
  const file = stateOf(join(root, 'backup'), databaseSchema, [step('1', 'contract'), step('22', 'expand')])
  const newer = { plugins: [{ id: 'notes', version: '2.0.0' }] }
  await t.rejects(migrated(t, join(root, 'data'), file, newer), {
    code: 'CONFLICT',
    message: /the plugin "notes" 2\.0\.0\. This node has "notes" 1\.0\.0, .*"1" has run\. Update the plugin/,
  })
  await t.resolves(migrated(t, join(root, 'data'), file), 'the same version knows it')
  stateOf(join(root, 'data'), databaseSchema, [step('1', 'contract')])
  await t.resolves(migrated(t, join(root, 'data'), file, newer))
})

test('a state that no node has made is refused', async (t) => {
  const root = t.testdir()
  const file = join(root, 'state.sqlite')
  const refused = (message: RegExp) =>
    t.rejects(restores(root).migrateState({ file, ...made }), { code: 'VALIDATION_ERROR', message })
  const refusals: readonly (readonly [string, RegExp])[] = [
    [
      'CREATE TRIGGER t AFTER INSERT ON sessions BEGIN UPDATE users SET owner = NULL; END',
      /state\/state\.sqlite is not the state of a node, since it has a trigger, "t"/,
    ],
    ['CREATE VIEW v AS SELECT 1', /it has a view, "v"/],
    ['CREATE VIRTUAL TABLE f USING fts5(x)', /its table "f\w*" is virtual/],
    ['DROP TABLE kernel_schema', /it has no table "kernel_schema"/],
    ['DROP TABLE logins', /the column "provider" of its table "logins" is not that of a node/],
    ['ALTER TABLE users RENAME COLUMN wallet TO purse', /the column "wallet" of its table "users"/],
    ['DELETE FROM kernel_schema', /already exists/],
  ]
  for (const [statement, message] of refusals) {
    writeFileSync(file, '')
    stateOf(root, databaseSchema, [statement])
    await refused(message)
  }
  writeFileSync(file, 'x'.repeat(5000))
  await refused(/since file is not a database/)
  writeFileSync(file, '')
  stateOf(root)
  writeFileSync(file, readFileSync(file).fill(7, 4096, 12_288))
  await refused(/since (SQLite finds it damaged|database disk image is malformed)/)
})
