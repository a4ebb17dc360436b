import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createTestNode } from '@nodekeep/kernel/testing'
import { definePlugin } from '@nodekeep/plugin-sdk'
import { type Test, test } from 'tap'
import { removeSetAside } from '../../src/state/damaged-database.ts'

/** Starts a node whose plugin opens the database "index", and returns the text in it. */
async function startIndexed(t: Test, dataFolder: string) {
  const warnings: object[] = []
  let text: unknown
  const indexed = definePlugin({
    id: 'indexed',
    setup({ sqliteFile, onStop }) {
      const file = sqliteFile('index', { inBackups: false, newIfDamaged: 'It costs a test.' })
      const database = new DatabaseSync(file)
      onStop(() => database.close())
      database.exec('PRAGMA journal_mode = WAL; CREATE TABLE IF NOT EXISTS texts (text TEXT)')
      text = database.prepare('SELECT text FROM texts').get()?.text
      database.exec("INSERT INTO texts VALUES ('kept')")
    },
  })
  const onLog = (line: string) => {
    if (line.includes('"warn"')) warnings.push(JSON.parse(line))
  }
  const node = await createTestNode({ plugins: [indexed], dataFolder, onLog })
  t.teardown(() => node.stop())
  await node.stop()
  return { warnings, text }
}

const indexOf = (dataFolder: string) => join(dataFolder, 'plugins/indexed/not-in-backups/index.sqlite')

test('a plugin gets a new file in place of a damaged database that can be made anew', async (t) => {
  const folder = t.testdir()
  const file = indexOf(folder)
  t.strictSame(await startIndexed(t, folder), { warnings: [], text: undefined })
  t.strictSame(await startIndexed(t, folder), { warnings: [], text: 'kept' }, 'a whole one stays')

  const bytes = readFileSync(file)
  bytes.fill('?', 4096)
  writeFileSync(file, bytes)
  const { warnings, text } = await startIndexed(t, folder)
  t.equal(text, undefined)
  t.match(warnings, [
    {
      plugin: 'indexed',
      file,
      setAside: `${file}.damaged`,
      reason: String,
      msg: `${file} is damaged, and the plugin begins with a new one. It costs a test.`,
    },
  ])
  t.same(readFileSync(`${file}.damaged`), bytes)
  t.equal(statSync(file).mode & 0o777, 0o600)
  t.strictSame(await startIndexed(t, folder), { warnings: [], text: 'kept' })
  removeSetAside(folder)
  t.notOk(existsSync(`${file}.damaged`))
})

test('a database of a later version of SQLite, or with values that break a rule, is not damaged', async (t) => {
  const folder = t.testdir()
  const file = indexOf(folder)
  await startIndexed(t, folder)
  const whole = readFileSync(file)
  const later = Buffer.from(whole)
  // The versions that a program must know to read and to write the file.
  later.fill(9, 18, 20)
  writeFileSync(file, later)
  await t.rejects(startIndexed(t, folder))
  t.same(readFileSync(file), later)

  writeFileSync(file, whole)
  const change = (statements: string) => {
    const database = new DatabaseSync(file, { defensive: false })
    database.exec(statements)
    database.close()
  }
  change("PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'CREATE TABLE texts (text TEXT) LATER'")
  await t.rejects(startIndexed(t, folder), { message: /malformed database schema/ })
  t.notOk(existsSync(`${file}.damaged`))

  writeFileSync(file, whole)
  change('INSERT INTO texts VALUES (NULL)')
  change(
    "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'CREATE TABLE texts (text TEXT NOT NULL)'",
  )
  change('PRAGMA writable_schema = OFF')
  const broken = new DatabaseSync(file)
  t.doesNotThrow(() => broken.prepare('SELECT * FROM texts').all())
  broken.close()
  t.strictSame((await startIndexed(t, folder)).warnings, [])
})

test('a database that cannot be read for another reason stays as it is', async (t) => {
  const folder = t.testdir()
  const file = indexOf(folder)
  await startIndexed(t, folder)
  const other = new DatabaseSync(file)
  other.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
  await t.rejects(startIndexed(t, folder), { message: /database is locked/ })
  other.exec('ROLLBACK')
  other.close()
  t.strictSame(await startIndexed(t, folder), { warnings: [], text: 'kept' })

  rmSync(file)
  mkdirSync(file)
  await t.rejects(startIndexed(t, folder))
  t.ok(statSync(file).isDirectory())
})
