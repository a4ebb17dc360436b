import { join } from 'node:path'
import { test } from 'tap'
import { openDavDatabase } from '../src/dav-database.ts'
import { DeadProperties } from '../src/dead-properties.ts'

const dayMs = 24 * 60 * 60 * 1000

test('the properties of an entry outlast its time in the trash, and no longer', async (t) => {
  const database = openDavDatabase(join(t.testdir(), 'webdav.sqlite'))
  t.teardown(() => database.close())
  const properties = new DeadProperties(database, { bytesPerEntry: 1000, bytesPerUser: 1000 })
  for (const entry of ['1', '2']) properties.change('ada', entry, new Map([['{}a', '<a/>']]))
  properties.change('grace', '3', new Map([['{}a', '<a/>']]))
  t.same(
    [...properties.all()].map(({ userUuid, entry }) => `${userUuid} ${entry}`),
    ['ada 1', 'ada 2', 'grace 3'],
  )
  /** Lets the entries be gone for a number of days. */
  const age = (days: number) =>
    database.prepare('UPDATE property_entries SET gone = gone - ?').run(days * dayMs)
  properties.see('ada', '1', false)
  age(59)
  properties.see('ada', '1', false)
  t.same(properties.entriesOf('ada'), ['1', '2'])
  properties.see('ada', '1', true)
  properties.see('ada', '2', false)
  age(61)
  for (const entry of ['1', '2']) properties.see('ada', entry, false)
  t.same(properties.entriesOf('ada'), ['1'], 'one that came back begins anew')
  t.equal(properties.of('ada', '2').size, 0)
  t.equal(properties.of('grace', '3').size, 1)
})

test('an entry without properties is forgotten', async (t) => {
  const database = openDavDatabase(join(t.testdir(), 'webdav.sqlite'))
  t.teardown(() => database.close())
  const properties = new DeadProperties(database, { bytesPerEntry: 1000, bytesPerUser: 1000 })
  t.notOk(properties.hasAny('ada'))
  properties.change('ada', '1', new Map([['{}a', '<a/>']]))
  t.ok(properties.hasAny('ada'))
  properties.change('ada', '1', new Map([['{}a', null]]))
  t.notOk(properties.hasAny('ada'))
})
