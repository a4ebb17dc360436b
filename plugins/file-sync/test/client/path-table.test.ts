import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import fc from 'fast-check'
import t from 'tap'
import { PathTable } from '../../src/client/path-table.ts'
import { StateDatabase } from '../../src/client/state-database.ts'

/** Names that sort around the one of a folder and its `/`. */
const name = fc.constantFrom('a', 'a b', 'a-', 'a.', 'a0', 'a%', 'a_', 'A', 'ä', '日本', '😀', '\uffff')
const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => `/${names.join('/')}`)
const folder = fc.oneof(fc.constant('/'), path)

type Table = PathTable<{ number: number }>
type Model = Map<string, number>

const set = fc.tuple(path, fc.nat(9)).map(([path, number]) => (table: Table, model: Model) => {
  table.set(path, { number })
  model.set(path, number)
})
const remove = path.map((path) => (table: Table, model: Model) => {
  table.delete(path)
  model.delete(path)
})
const clear = fc.constant((table: Table, model: Model) => {
  table.clear()
  model.clear()
})

t.test('the table has the same records as a map', async (t) => {
  const changes = fc.array(
    fc.oneof({ weight: 20, arbitrary: set }, { weight: 6, arbitrary: remove }, clear),
    {
      maxLength: 60,
    },
  )
  fc.assert(
    fc.property(changes, folder, (changes, folder) => {
      const table: Table = new PathTable(createDatabase(), 'records')
      const model: Model = new Map()
      for (const change of changes) {
        change(table, model)
        compare(table, model, folder)
      }
      table.count()
      compare(table, model, folder)
    }),
  )
  t.pass()
})

t.test('a record that cannot be read because the file is damaged ends the sync', async (t) => {
  const file = join(t.testdir(), 'state.sqlite')
  const database = createDatabase(file)
  const table: Table = new PathTable(database, 'records')
  database.run('BEGIN')
  for (let number = 0; number < 1000; number += 1) table.set(`/${number}`, { number })
  database.run('COMMIT')
  database.close()
  const bytes = await readFile(file)
  // The first page has the format and the tables of the database. The rest has the records.
  await writeFile(file, bytes.fill(7, 4096))
  const damaged = new StateDatabase(new DatabaseSync(file))
  t.teardown(() => damaged.close())
  const unreadable: Table = new PathTable(damaged, 'records')
  t.throws(() => unreadable.count(), { name: 'SyncFailure', kind: 'stop', message: /damaged/ })
})

function compare(table: Table, model: Model, folder: string): void {
  const below = [...model.keys()].filter((path) => path.startsWith(folder === '/' ? '/' : `${folder}/`))
  const within = [...(model.has(folder) ? [folder] : []), ...below].sort(byBytes)
  const expected = {
    size: model.size,
    pathBytes: [...model.keys()].reduce((sum, path) => sum + Buffer.byteLength(path), 0),
    within,
    isEmpty: below.length === 0,
    numbers: within.map((path) => model.get(path)),
  }
  const found = {
    size: table.size,
    pathBytes: table.pathBytes,
    within: table.within(folder),
    isEmpty: table.isEmpty(folder),
    numbers: table.within(folder).map((path) => table.get(path)?.number),
  }
  assert.deepEqual(found, expected)
}

function byBytes(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other))
}

function createDatabase(file = ':memory:'): StateDatabase {
  const database = new DatabaseSync(file)
  database.exec('CREATE TABLE records (path TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT, WITHOUT ROWID')
  return new StateDatabase(database)
}
