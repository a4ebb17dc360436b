import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { StateStore } from '@nodekeep/plugin-sdk'
import fc from 'fast-check'
import { type Test, test } from 'tap'
import { createLogger } from '../../src/log/logger.ts'
import { openStateDatabase } from '../../src/state/database.ts'
import { stateTables } from '../../src/state/schema.ts'
import { removeExpired, StateStores } from '../../src/state/state-stores.ts'
import { until } from './fixtures/until.ts'

const silent = createLogger({ level: 'silent' })

async function open(t: Test, folder: string) {
  const database = await openStateDatabase(folder, stateTables)
  const stores = new StateStores(database, silent)
  t.teardown(async () => {
    stores.close()
    await database.close()
  })
  return { database, stores, store: stores.for('notes') }
}

async function list(store: StateStore): Promise<Record<string, unknown>> {
  const entries: [string, unknown][] = []
  for await (const [key, value] of store.entries()) entries.push([key, value])
  return Object.fromEntries(entries)
}

test('the store returns values as JSON represents them', async (t) => {
  const { store } = await open(t, t.testdir())
  const values = [
    null,
    false,
    0,
    -1.5,
    '',
    ':base64:not bytes',
    'naïve 🦔 \u0000 \ud800',
    [],
    {},
    [null, [1]],
    { deep: { er: 1 } },
    { toString: 'x', constructor: 1 },
    JSON.parse('{"__proto__": {"polluted": true}}'),
    'x'.repeat(5_000_000),
  ]
  for (const value of values) {
    await store.set('value', value)
    t.strictSame(await store.get('value'), value)
    t.ok(await store.has('value'))
  }
  t.equal(({} as Record<string, unknown>).polluted, undefined)
  await store.set('value', { kept: 1, dropped: undefined, date: new Date(0) })
  t.strictSame(await store.get('value'), { kept: 1, date: '1970-01-01T00:00:00.000Z' })
})

test('the store refuses values that JSON cannot represent and changes nothing', async (t) => {
  const { store } = await open(t, t.testdir())
  await store.set('value', 'before')
  const circular: Record<string, unknown> = {}
  circular.self = circular
  for (const value of [undefined, () => 1, Symbol('s')]) {
    await t.rejects(
      store.set('value', value),
      /A state value is anything that JSON can hold, not (undefined|function|symbol)/,
    )
  }
  await t.rejects(store.set('value', 1n), TypeError)
  await t.rejects(store.set('value', circular), TypeError)
  t.equal(await store.get('value'), 'before')
})

test('the store accepts unusual keys', async (t) => {
  const { store } = await open(t, t.testdir())
  const keys = [
    '__proto__',
    'constructor',
    'toString',
    'notes:a',
    'notes::a',
    'a',
    ':',
    ' ',
    "'; --",
    '%',
    'a\u0000b',
    '🦔',
    'É',
    'É'.normalize('NFD'),
    'k'.repeat(1024),
  ]
  for (const [position, key] of keys.entries()) await store.set(key, position)
  for (const [position, key] of keys.entries())
    t.equal(await store.get(key), position, JSON.stringify(key.slice(0, 20)))
  t.same(Object.keys(await list(store)).sort(), keys.sort())
  t.ok(await store.delete('notes:a'))
  t.ok(await store.has('a'), 'a key with a colon is not split into namespace and key')
})

test('the store refuses invalid keys', async (t) => {
  const { store } = await open(t, t.testdir())
  await t.rejects(store.get(''), /at least one character/)
  await t.rejects(store.set('k'.repeat(1025), 1), /at most 1024 characters; this one has 1025/)
  await t.rejects(store.has('\ud800'), /well-formed/)
  await t.rejects(store.delete(7 as unknown as string), /A state key is a string, not number/)
})

test('delete returns whether there was a value', async (t) => {
  const { store } = await open(t, t.testdir())
  await store.set('a', 1)
  t.equal(await store.delete('a'), true)
  t.equal(await store.delete('a'), false)
  t.equal(await store.get('a'), undefined)
  t.equal(await store.has('a'), false)
})

test('a plugin cannot see the values of another', async (t) => {
  const { stores, store } = await open(t, t.testdir())
  const other = stores.for('notes:b')
  t.equal(stores.for('notes'), store, 'one store per plugin')
  await store.set('b:key', 'mine')
  await other.set('key', 'theirs')
  t.equal(await store.get('key'), undefined)
  await store.clear()
  t.same(await list(store), {})
  t.same(await list(other), { key: 'theirs' })
})

test('entries come in pages, even while they change', async (t) => {
  const { stores, store } = await open(t, t.testdir())
  for (let number = 0; number < 450; number++) await store.set(`key ${number}`, number)
  await stores.for('a').set('key 1', 'of another plugin')
  t.equal(Object.keys(await list(store)).length, 450)
  let seen = 0
  for await (const [key] of store.entries()) {
    seen++
    await store.delete(key)
  }
  t.equal(seen, 450)
  t.same(await list(store), {})
})

test('a value expires at the end of its time to live', async (t) => {
  const { database, store } = await open(t, t.testdir())
  await store.set('short', 1, 30)
  await store.set('long', 1, 1_000_000)
  await store.set('for ever', 1)
  await until(async () => (await store.get('short')) === undefined)
  t.notOk(await store.has('short'))
  t.notOk(await store.delete('short').then(() => store.has('short')))
  t.same(Object.keys(await list(store)).sort(), ['for ever', 'long'])

  await store.set('short', 1, 1)
  await until(async () => !(await store.has('short')))
  await removeExpired(database)
  t.equal(await database.use((sql) => sql.get('SELECT count(*) AS rows FROM state')?.rows), 2)

  await store.set('long', 2)
  t.equal(await database.use((sql) => sql.get(`SELECT expires FROM state WHERE key = 'long'`)?.expires), null)
})

test('of all who add a value to a key, one does', async (t) => {
  const folder = t.testdir()
  const [one, other] = [await open(t, folder), await open(t, folder)]
  const calls = Array.from({ length: 10 }, (_, n) => [
    one.store.add('ticket', n),
    other.store.add('ticket', -n),
  ])
  t.equal((await Promise.all(calls.flat())).filter(Boolean).length, 1)
  t.equal(await one.stores.for('other').add('ticket', 1), true, 'each plugin has keys of its own')
  t.equal(await one.store.add('short', 1, 1), true)
  await until(async () => !(await one.store.has('short')))
  t.equal(await one.store.add('short', 2), true, 'an expired value is none')
  t.equal(await one.store.get('short'), 2)
  await t.rejects(one.store.add('ticket', undefined), TypeError)
  await t.rejects(one.store.add('', 1), TypeError)
})

test('a value that replaces an expired one survives concurrent reads', async (t) => {
  const { store } = await open(t, t.testdir())
  for (let round = 0; round < 50; round++) {
    await store.set('nonce', 'old', 1)
    await until(() => store.has('nonce').then((has) => !has))
    const readers = [store.get('nonce'), store.has('nonce'), store.get('nonce')]
    await Promise.all([...readers, store.set('nonce', round), store.get('nonce')])
    if ((await store.get('nonce')) !== round) return t.fail(`round ${round} lost its value`)
  }
  t.pass('fifty rounds')
})

test('the store refuses an invalid time to live', async (t) => {
  const { store } = await open(t, t.testdir())
  for (const ttl of [0, -1, Number.NaN, Infinity, 2 ** 60, '5' as unknown as number]) {
    await t.rejects(store.set('a', 1, ttl), /positive number of milliseconds/, String(ttl))
  }
  await store.set('a', 1, 0.5)
  await store.set('b', 1, Number.MAX_SAFE_INTEGER - Date.now() - 60_000)
  t.equal(await store.get('b'), 1)
})

test('values and their times to live survive a restart', async (t) => {
  const folder = t.testdir()
  const database = await openStateDatabase(folder, stateTables)
  const stores = new StateStores(database, silent)
  await stores.for('notes').set('stays', { a: 1 })
  await stores.for('notes').set('goes', 1, 20)
  stores.close()
  await database.close()
  const { store } = await open(t, folder)
  t.same(await store.get('stays'), { a: 1 })
  await until(() => store.has('goes').then((has) => !has))
})

test('every call of a store rejects when the database fails', async (t) => {
  const { database, store } = await open(t, t.testdir())
  await store.set('a', 1)
  await database.use((sql) => sql.run(`UPDATE state SET value = 'no json'`))
  await t.rejects(store.get('a'))
  await t.rejects(list(store))
  await database.close()
  for (const call of [
    store.get('a'),
    store.set('a', 1),
    store.add('a', 1),
    store.delete('a'),
    store.has('a'),
    store.clear(),
    list(store),
  ]) {
    await t.rejects(call, /closed/)
  }
})

test('the store behaves like a Map', async (t) => {
  const { store } = await open(t, t.testdir())
  const key = fc.oneof(
    fc.constantFrom('a', 'b', 'notes:a', '__proto__'),
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }),
  )
  const step = fc.oneof(
    fc.tuple(fc.constantFrom('set' as const, 'add' as const), key, fc.jsonValue()),
    fc.tuple(fc.constantFrom('get', 'delete', 'has'), key),
    fc.constant(['clear'] as const),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      await store.clear()
      const model = new Map<string, unknown>()
      for (const [name, at = '', value] of steps) {
        if (name === 'add' && model.has(at)) assert.equal(await store.add(at, value), false)
        else if (name === 'set' || name === 'add') {
          const plain = JSON.parse(JSON.stringify(value)) as unknown
          model.set(at, plain)
          assert.ok((await store[name](at, value)) !== false)
        } else if (name === 'get') assert.deepStrictEqual(await store.get(at), model.get(at))
        else if (name === 'has') assert.equal(await store.has(at), model.has(at))
        else if (name === 'delete') assert.equal(await store.delete(at), model.delete(at))
        else {
          model.clear()
          await store.clear()
        }
      }
      const found = new Map<string, unknown>()
      for await (const [name, value] of store.entries()) found.set(name, value)
      assert.deepStrictEqual(found, model)
    }),
    { numRuns: 60 },
  )
})

test('the process has only one SQLite library', async (t) => {
  const program = `
    const { openStateDatabase } = await import(${JSON.stringify(join(import.meta.dirname, '../../src/state/database.ts'))})
    const { stateTables } = await import(${JSON.stringify(join(import.meta.dirname, '../../src/state/schema.ts'))})
    const { StateStores } = await import(${JSON.stringify(join(import.meta.dirname, '../../src/state/state-stores.ts'))})
    const database = await openStateDatabase(${JSON.stringify(t.testdir())}, stateTables)
    const stores = new StateStores(database, console)
    await stores.for('a').set('key', 1)
    await database.close()
    console.log(JSON.stringify(process.report.getReport().sharedObjects))
  `
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--conditions=nodekeep-source',
    '--input-type=module',
    '--eval',
    program,
  ])
  const addons = (JSON.parse(stdout) as string[]).filter((file) => /\.node$|sqlite/.test(file))
  t.same(addons, [], 'no addon is loaded')
})
