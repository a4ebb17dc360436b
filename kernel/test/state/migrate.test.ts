import type { Migration, StateStore } from '@nodekeep/plugin-sdk'
import { type Test, test } from 'tap'
import { createLogger } from '../../src/log/logger.ts'
import { openStateDatabase } from '../../src/state/database.ts'
import { databaseSchema } from '../../src/state/database-schema.ts'
import { createMigrate } from '../../src/state/migrate.ts'
import { StateStores } from '../../src/state/state-stores.ts'
import { startChild } from './fixtures/child.ts'

async function open(t: Test, folder = t.testdir()) {
  const database = await openStateDatabase(folder, databaseSchema)
  const stores = new StateStores(database, createLogger({ level: 'silent' }))
  t.teardown(async () => {
    stores.close()
    await database.close()
  })
  const recorded = () =>
    database.use((sql) => sql.all('SELECT plugin, id FROM plugin_migrations ORDER BY plugin, position'))
  const migrate = (plugin = 'notes', timeoutMs = 10_000) => createMigrate(database, plugin, { timeoutMs })
  return { database, stores, store: stores.for('notes'), recorded, migrate }
}

const setting = (id: string, change: Migration['change'] = 'expand'): Migration => ({
  id,
  change,
  up: (state) => state.set(id, true),
})

test('migrations run once, in order, and are recorded', async (t) => {
  const folder = t.testdir()
  const ran: string[] = []
  const step = (id: string): Migration => ({
    id,
    change: 'expand',
    async up(state) {
      ran.push(id)
      await state.set('steps', [...((await state.get<string[]>('steps')) ?? []), id])
    },
  })
  const first = await openStateDatabase(folder, databaseSchema)
  await createMigrate(first, 'notes', { timeoutMs: 10_000 })([step('1'), step('2')])
  await first.close()

  const { store, recorded, migrate } = await open(t, folder)
  await migrate()([step('1'), step('2'), step('3')])
  await migrate()([step('1'), step('2'), step('3')])
  await migrate('other')([step('1')])
  t.same(ran, ['1', '2', '3', '1'])
  t.same(await store.get('steps'), ['1', '2', '3'])
  t.same(await recorded(), [
    { plugin: 'notes', id: '1' },
    { plugin: 'notes', id: '2' },
    { plugin: 'notes', id: '3' },
    { plugin: 'other', id: '1' },
  ])
})

test('two concurrent calls run each migration once', async (t) => {
  const { store, migrate } = await open(t)
  const count: Migration = {
    id: 'count',
    change: 'expand',
    up: async (state) => state.set('count', ((await state.get<number>('count')) ?? 0) + 1),
  }
  const run = migrate()
  await Promise.all([run([count]), run([count]), migrate()([count])])
  t.equal(await store.get('count'), 1)
})

test('a migration that throws is rolled back, and those before it stay', async (t) => {
  const { store, recorded, migrate } = await open(t)
  await store.set('before', 1)
  const failing: Migration = {
    id: '2',
    change: 'expand',
    async up(state) {
      await state.set('half', 1)
      await state.clear()
      throw new Error('no good')
    },
  }
  await t.rejects(migrate()([setting('1'), failing, setting('3')]), /no good/)
  t.same(await recorded(), [{ plugin: 'notes', id: '1' }])
  t.equal(await store.get('before'), 1)
  t.equal(await store.get('1'), true)
  t.notOk(await store.has('half'))
  t.notOk(await store.has('3'))

  await migrate()([setting('1'), setting('2')])
  t.equal(await store.get('2'), true, 'the corrected migration runs')
})

test('a migration that throws synchronously fails like any other', async (t) => {
  const { store, recorded, migrate } = await open(t)
  const up = () => {
    throw new Error('at once')
  }
  await t.rejects(migrate()([{ id: '1', change: 'expand', up }]), /at once/)
  await store.set('later', 1)
  t.same(await recorded(), [])
})

test('a list that does not begin with the completed migrations is refused', async (t) => {
  const { recorded, migrate } = await open(t)
  await migrate()([setting('1'), setting('2', 'contract')])
  await t.rejects(migrate()([setting('1')]), {
    message:
      'The state of plugin "notes" was written by another version of the plugin: migration "2" has run, but this version does not know it. Install the version that ran last, or restore a backup.',
  })
  await t.rejects(migrate()([setting('2'), setting('1')]), /migration "1" has run where "2" is expected/)
  await t.rejects(migrate()([setting('1'), setting('1')]), /Two migrations have the id "1"/)
  t.equal((await recorded()).length, 2)
})

test('a former version of a plugin uses a state that was expanded since', async (t) => {
  const { store, recorded, migrate } = await open(t)
  await migrate()([setting('1'), setting('2')])
  await migrate()([setting('1')])
  t.ok(await store.has('2'), 'the expansion stays')
  await migrate()([setting('1'), setting('2'), setting('3')])
  t.equal((await recorded()).length, 3)
})

test('a migration must declare its change', async (t) => {
  const { recorded, migrate } = await open(t)
  const { change: _, ...undeclared } = setting('1')
  await t.rejects(migrate()([undeclared as Migration]), {
    message:
      "Migration \"1\" does not declare its change. Write change: 'expand' if it only adds, so that the version before it can still use the data. Otherwise write change: 'contract'.",
  })
  t.same(await recorded(), [])
})

test('a migration that times out is rolled back, and its later calls are refused', async (t) => {
  const { store, recorded, migrate } = await open(t)
  const { promise: never } = Promise.withResolvers<void>()
  let late: StateStore | undefined
  const hanging: Migration = {
    id: 'hanging',
    change: 'expand',
    async up(state) {
      await state.set('half', 1)
      late = state
      await never
    },
  }
  const run = migrate('notes', 30)([hanging])
  const write = store.set('other', 1)
  await t.rejects(run, {
    message: 'Migration "hanging" of plugin "notes" took longer than 30 ms. Nothing of it was kept.',
  })
  await write
  await t.rejects(late?.set('late', 1) ?? Promise.resolve(), /is over\. Await everything/)
  t.same(await recorded(), [])
  t.notOk(await store.has('half'))
  t.notOk(await store.has('late'))
  t.equal(await store.get('other'), 1)
})

test('a migration that waits for the store of the setup context times out', async (t) => {
  const { store, migrate } = await open(t)
  const crossing: Migration = { id: 'crossing', change: 'expand', up: () => store.set('crossing', 1) }
  await t.rejects(migrate('notes', 30)([crossing]), /took longer than 30 ms/)
  t.equal(await store.get('crossing'), 1, 'the call outside the transaction completes afterwards')
})

test('a plugin that stops aborts its migration', async (t) => {
  const { database, store } = await open(t)
  const stop = new AbortController()
  const migrate = createMigrate(database, 'notes', { timeoutMs: 10_000, signal: stop.signal })
  const stopping: Migration = {
    id: '1',
    change: 'expand',
    async up(state) {
      await state.set('half', 1)
      stop.abort()
      await Promise.withResolvers<void>().promise
    },
  }
  await t.rejects(migrate([stopping]), /was stopped\. Nothing of it was kept/)
  await t.rejects(migrate([setting('1')]), /was not started/)
  t.notOk(await store.has('half'))
})

test('writes of other plugins during migrations are not lost', async (t) => {
  const { stores, migrate } = await open(t)
  const plugins = ['a', 'b', 'c', 'd']
  const many = (id: string, fails: boolean): Migration => ({
    id,
    change: 'expand',
    async up(state) {
      for (let number = 0; number < 25; number++) {
        await state.set(`${id} ${number}`, number)
        if (number % 5 === 0) await new Promise((resolve) => setImmediate(resolve))
      }
      if (fails) throw new Error('rolled back')
    },
  })
  const migrations = plugins.map((plugin) =>
    migrate(plugin)([many('1', false), many('2', true)]).catch((error: Error) => error.message),
  )
  const writer = stores.for('writer')
  const writes: Promise<void>[] = []
  for (let number = 0; number < 100; number++) {
    writes.push(writer.set(`key ${number}`, number))
    await new Promise((resolve) => setImmediate(resolve))
  }
  t.same(
    await Promise.all(migrations),
    plugins.map(() => 'rolled back'),
  )
  await Promise.all(writes)
  const count = async (store: StateStore): Promise<number> => {
    let entries = 0
    for await (const _ of store.entries()) entries++
    return entries
  }
  t.equal(await count(writer), 100)
  for (const plugin of plugins) t.equal(await count(stores.for(plugin)), 25)
})

test('kill -9 during a migration rolls it back', async (t) => {
  const folder = t.testdir()
  const child = startChild('migrator.ts', folder)
  t.equal(await child.line(), 'first is done')
  t.equal(await child.line(), 'second has written')
  await child.kill()
  const { store, recorded, migrate } = await open(t, folder)
  t.same(await recorded(), [{ plugin: 'notes', id: 'first' }])
  t.equal(await store.get('first'), true)
  t.notOk(await store.has('second'))
  await migrate()([setting('first'), setting('second')])
  t.equal(await store.get('second'), true)
})
