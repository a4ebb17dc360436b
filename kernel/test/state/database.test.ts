import { chmodSync, existsSync, mkdirSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'tap'
import { databaseHealth, openStateDatabase, type StateDatabase } from '../../src/state/database.ts'
import { type SchemaStep, stateTables } from '../../src/state/schema.ts'
import { startChild } from './fixtures/child.ts'

const notes: SchemaStep = {
  id: '99-notes',
  change: 'contract',
  up: (connection) => connection.exec('CREATE TABLE notes (text TEXT NOT NULL UNIQUE) STRICT'),
}
const schema = [...stateTables, notes]

const texts = (database: StateDatabase): Promise<string[]> =>
  database.use((sql) => sql.all('SELECT text FROM notes ORDER BY text').map((row) => String(row.text)))
const add = (database: StateDatabase, text: string): Promise<number> =>
  database.use((sql) => sql.run('INSERT INTO notes VALUES (?)', text))

test('only the user of the process can read the folder and the file', async (t) => {
  const folder = join(t.testdir(), 'deep', 'data')
  const database = await openStateDatabase(folder, stateTables)
  t.equal(statSync(folder).mode & 0o777, 0o700)
  for (const name of ['state.sqlite', 'state.sqlite-wal', 'state.sqlite-shm']) {
    t.equal(statSync(join(folder, name)).mode & 0o777, 0o600, name)
  }
  await database.close()

  chmodSync(join(folder, 'state.sqlite'), 0o644)
  const again = await openStateDatabase(folder, stateTables)
  t.equal(
    statSync(join(folder, 'state.sqlite')).mode & 0o777,
    0o600,
    'the node restricts the mode of an existing file',
  )
  await again.close()
})

test('the connection is configured for durability', async (t) => {
  const database = await openStateDatabase(t.testdir(), stateTables)
  const pragma = (name: string) => database.use((sql) => Object.values(sql.get(`PRAGMA ${name}`) ?? {})[0])
  t.equal(await pragma('journal_mode'), 'wal')
  t.equal(await pragma('synchronous'), 2, 'FULL')
  t.equal(await pragma('foreign_keys'), 1)
  t.equal(await pragma('busy_timeout'), 0, 'SQLite does not block the process')
  await database.close()
})

test('a full disk and a locked file have their own temporary errors', async (t) => {
  const database = await openStateDatabase(t.testdir(), schema, 10)
  const pragma = (text: string) => database.use((sql) => sql.get(`PRAGMA ${text}`))
  const pages = Number((await pragma('page_count'))?.page_count)
  await pragma(`max_page_count = ${pages}`)
  const long = 'x'.repeat(100_000)
  const full = { code: 'INSUFFICIENT_STORAGE', message: /disk .* is full/ }
  await t.rejects(add(database, long), full)
  await t.rejects(
    database.transaction((sql) => sql.run('INSERT INTO notes VALUES (?)', long)),
    full,
  )
  await pragma('max_page_count = 1000000')

  const other = new DatabaseSync(database.path)
  other.exec('BEGIN IMMEDIATE')
  const held = { code: 'SERVICE_UNAVAILABLE', headers: { 'retry-after': '5' } }
  await t.rejects(add(database, 'a'), held)
  await t.rejects(
    database.transaction((sql) => sql.run('INSERT INTO notes VALUES (?)', 'a')),
    held,
  )
  t.same(await texts(database), [], 'reading goes on')
  other.close()
  await add(database, 'b')
  t.same(await texts(database), ['b'])
  await database.close()
})

test('a write waits while another process holds the file, and reading continues', async (t) => {
  const database = await openStateDatabase(t.testdir(), schema)
  await add(database, 'before')
  const other = new DatabaseSync(database.path)
  other.exec('BEGIN IMMEDIATE')
  const waiting = [
    add(database, 'one'),
    database.transaction((sql) => sql.run('INSERT INTO notes VALUES (?)', 'two')),
    database.exclusiveTransaction(async (sql) => sql.run('INSERT INTO notes VALUES (?)', 'three')),
  ]
  let finished = 0
  for (const each of waiting) each.then(() => (finished += 1))
  const since = performance.now()
  let turns = 0
  while (performance.now() - since < 100) {
    await new Promise((resolve) => setImmediate(resolve))
    turns += 1
  }
  t.ok(turns > 20, `${turns} turns of the event loop meanwhile`)
  t.same(await texts(database), ['before'], 'reading goes on')
  t.ok(await database.isConnected())
  t.equal(finished, 0)
  other.exec('COMMIT')
  other.close()
  await Promise.all(waiting)
  t.same(await texts(database), ['before', 'one', 'three', 'two'])

  const touched = database.use((sql) => {
    sql.run('INSERT INTO notes VALUES (?)', 'once')
    const holder = new DatabaseSync(database.path)
    try {
      holder.exec('BEGIN IMMEDIATE')
      sql.run('INSERT INTO notes VALUES (?)', 'never')
    } finally {
      holder.close()
    }
  })
  await t.rejects(touched, { code: 'SERVICE_UNAVAILABLE' }, 'a call that has changed data does not run again')
  t.same(await texts(database), ['before', 'once', 'one', 'three', 'two'])
  await database.close()
})

test('a transaction is atomic', async (t) => {
  const database = await openStateDatabase(t.testdir(), schema)
  await database.transaction((sql) => {
    sql.run('INSERT INTO notes VALUES (?)', 'a')
    sql.run('INSERT INTO notes VALUES (?)', 'b')
  })
  const failing = database.transaction((sql) => {
    sql.run('INSERT INTO notes VALUES (?)', 'c')
    sql.run('INSERT INTO notes VALUES (?)', 'a')
  })
  await t.rejects(failing, /UNIQUE/)
  await t.rejects(
    database.transaction(async (sql) => sql.run('INSERT INTO notes VALUES (?)', 'd')),
    /exclusiveTransaction/,
  )
  t.same(await texts(database), ['a', 'b'])
  await database.close()
})

test('writes wait for an exclusive transaction and survive its rollback, and reading continues', async (t) => {
  const database = await openStateDatabase(t.testdir(), schema, 1)
  const { promise: hold, reject: fail } = Promise.withResolvers<never>()
  const order: string[] = []
  const exclusive = database.exclusiveTransaction(async (sql) => {
    sql.run('INSERT INTO notes VALUES (?)', 'from the transaction')
    await hold
  })
  const ended = t.rejects(exclusive, /changed my mind/).then(() => order.push('transaction'))
  const waiting = [
    add(database, 'a').then(() => order.push('use')),
    database
      .transaction((sql) => sql.run('INSERT INTO notes VALUES (?)', 'b'))
      .then(() => order.push('sync')),
    database.exclusiveTransaction(async (sql) => sql.run('INSERT INTO notes VALUES (?)', 'c')),
    add(database, 'd'),
  ]
  await new Promise((resolve) => setImmediate(resolve))
  t.same(order, [], 'all writes wait')
  t.same(await texts(database), [], 'a read returns the data from before the transaction')
  t.ok(await database.isConnected(), 'the probe does not wait')
  fail(new Error('changed my mind'))
  await Promise.all([ended, ...waiting])
  t.same(await texts(database), ['a', 'b', 'c', 'd'])
  await database.close()
})

test('a close waits for an open transaction, and the error of later calls names the close', async (t) => {
  const folder = t.testdir()
  const database = await openStateDatabase(folder, schema)
  const { promise: hold, resolve: go } = Promise.withResolvers<void>()
  const exclusive = database.exclusiveTransaction(async (sql) => {
    await hold
    sql.run('INSERT INTO notes VALUES (?)', 'kept')
  })
  const closing = database.close()
  go()
  await exclusive
  await closing
  await database.close()
  await t.rejects(
    database.use(() => 1),
    /The state database is closed/,
  )
  await t.rejects(
    database.transaction(() => 1),
    /The state database is closed/,
  )
  await t.rejects(
    database.exclusiveTransaction(async () => 1),
    /The state database is closed/,
  )
  t.notOk(await database.isConnected())

  const again = await openStateDatabase(folder, schema)
  t.same(await texts(again), ['kept'])
  await again.close()
})

test('the probe detects a missing or replaced file', async (t) => {
  const folder = t.testdir()
  const database = await openStateDatabase(folder, stateTables)
  t.ok(await database.isConnected())
  renameSync(join(folder, 'state.sqlite'), join(folder, 'elsewhere'))
  t.notOk(await database.isConnected(), 'missing')
  writeFileSync(join(folder, 'state.sqlite'), '')
  t.notOk(await database.isConnected(), 'replaced')
  await database.close()
})

test('schema steps run once and in order, and a failed step is rolled back', async (t) => {
  const folder = t.testdir()
  await (await openStateDatabase(folder, stateTables)).close()
  const broken: SchemaStep = {
    id: '100-broken',
    change: 'expand',
    up(connection) {
      connection.exec('CREATE TABLE half (x)')
      throw new Error('broken step')
    },
  }
  await t.rejects(openStateDatabase(folder, [...schema, broken]), /broken step/)

  const database = await openStateDatabase(folder, schema)
  await add(database, 'a')
  const half = await database.use((sql) => sql.get(`SELECT 1 FROM sqlite_schema WHERE name = 'half'`))
  t.equal(half, undefined)
  await database.close()
  const again = await openStateDatabase(folder, schema)
  t.same(await texts(again), ['a'], 'completed steps do not run again')
  await again.close()
})

test('a database from a newer version is refused and unchanged', async (t) => {
  const folder = t.testdir()
  await (await openStateDatabase(folder, schema)).close()
  await t.rejects(openStateDatabase(folder, stateTables), {
    message: `${join(folder, 'state.sqlite')} was written by a newer version of Nodekeep (migration "99-notes" has run, but this version does not know it). Start that version, or restore a backup of this one.`,
  })
  await (await openStateDatabase(folder, schema)).close()
})

test('the error about a file that cannot be opened is one line', async (t) => {
  const folder = t.testdir({ file: 'text', damaged: { 'state.sqlite': 'This is no database. '.repeat(400) } })
  await t.rejects(
    openStateDatabase(join(folder, 'damaged'), stateTables),
    /state\.sqlite is damaged or is not a database\. Restore the node from a backup: nodekeep backup restore FILE\. To begin anew without its users, move the file away\.$/,
  )
  await t.rejects(
    openStateDatabase(join(folder, 'file'), stateTables),
    /The data folder .* cannot be made \(EEXIST\): a file is in its place/,
  )
  await t.rejects(openStateDatabase(join(folder, 'file', 'data'), stateTables), /cannot be made \(ENOTDIR\)/)
  mkdirSync(join(folder, 'taken', 'state.sqlite'), { recursive: true })
  await t.rejects(openStateDatabase(join(folder, 'taken'), stateTables), /cannot be written|cannot be opened/)
})

test('the error about a folder without write access names the remedy', {
  skip: process.getuid?.() === 0 && 'root may write everywhere',
}, async (t) => {
  const folder = join(t.testdir({ data: {} }), 'data')
  chmodSync(folder, 0o500)
  t.teardown(() => chmodSync(folder, 0o700))
  await t.rejects(
    openStateDatabase(folder, stateTables),
    /cannot be written \(EACCES\)\. Give the node's user write access/,
  )
})

test('completed writes survive kill -9', async (t) => {
  const folder = t.testdir()
  for (let round = 0; round < 3; round++) {
    const child = startChild('writer.ts', folder)
    let answered = 0
    for (let line = 0; line < 20 + round * 17; line++) answered = Number(await child.line())
    await child.kill()
    const database = await openStateDatabase(folder, stateTables)
    const row = await database.use((sql) => sql.get(`SELECT value FROM state WHERE namespace = 'writer'`))
    const { value } = JSON.parse(String(row?.value)) as { value: number }
    t.ok(answered > 0 && value >= answered, `${value} is stored, ${answered} was reported`)
    t.equal(await database.use((sql) => sql.get('PRAGMA integrity_check')?.integrity_check), 'ok')
    await database.close()
  }
  t.notOk(existsSync(join(folder, 'state.sqlite-wal')), 'a clean close removes the write-ahead log')
})

test('the health check reports whether the database answers', async (t) => {
  const database = await openStateDatabase(t.testdir(), stateTables)
  const health = databaseHealth(database)
  const { signal } = new AbortController()
  t.same(await health.check(signal), { ok: true, state: 'connected' })
  await database.close()
  t.match(await health.check(signal), { ok: false, state: 'unreachable', message: /cannot be read/ })
})
