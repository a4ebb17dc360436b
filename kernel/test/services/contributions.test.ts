import { defineRegistry } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { Contributions } from '../../src/services/contributions.ts'
import { Registries } from '../../src/services/registry.ts'

const Tools = defineRegistry<number>('tools', 1)

function setUp() {
  const registries = new Registries()
  const entries = registries.entries('tools@1')
  let changes = 0
  entries.listen(() => {
    changes += 1
  })
  const of = (owner: string) => {
    const contributions = new Contributions(registries, owner)
    return { contributions, writer: contributions.writer(Tools) }
  }
  return { entries, of, changes: () => changes }
}

test('entries appear together when their plugin is published', async (t) => {
  const { entries, of, changes } = setUp()
  const { contributions, writer } = of('smith')
  writer.add('hammer', 1)
  writer.add('tongs', 2)
  t.same(entries.names(), [])
  contributions.publish()
  t.same(entries.names(), ['hammer', 'tongs'])
  t.equal(changes(), 1, 'one change for both')
})

test('an entry of a published plugin appears at once, and its disposer removes it once', async (t) => {
  const { entries, of, changes } = setUp()
  const { contributions, writer } = of('smith')
  contributions.publish()
  const dispose = writer.add('hammer', 1)
  t.same(entries.names(), ['hammer'])
  dispose()
  dispose()
  t.same(entries.names(), [])
  t.equal(changes(), 2)
})

test('an entry that is removed before it is published never appears', async (t) => {
  const { entries, of } = setUp()
  const { contributions, writer } = of('smith')
  writer.add('hammer', 1)()
  contributions.publish()
  t.same(entries.names(), [])
})

test('a writer refuses a taken name, and a plugin whose name was taken meanwhile publishes nothing', async (t) => {
  const { entries, of } = setUp()
  const smith = of('smith')
  const carpenter = of('carpenter')
  smith.writer.add('hammer', 1)
  t.throws(() => smith.writer.add('hammer', 2), /"smith" adds "hammer" twice/)
  carpenter.writer.add('saw', 3)
  carpenter.writer.add('hammer', 4)
  smith.contributions.publish()
  t.throws(() => of('mason').writer.add('hammer', 5), { code: 'CONFLICT' })
  t.throws(() => carpenter.contributions.publish(), {
    code: 'CONFLICT',
    message: /where "smith" has that name/,
  })
  t.same(entries.names(), ['hammer'])
})

test('a withdrawn plugin has no entries and adds none', async (t) => {
  const { entries, of } = setUp()
  const first = of('smith')
  const dispose = first.writer.add('hammer', 1)
  first.contributions.publish()
  first.contributions.withdraw()
  t.same(entries.names(), [])

  const second = of('smith')
  second.writer.add('hammer', 2)
  second.contributions.publish()
  dispose()
  first.writer.add('tongs', 3)()
  first.writer.add('hammer', 4)
  first.contributions.withdraw()
  t.equal(entries.get('hammer'), 2, 'the restarted plugin has its new entry')
  t.same(entries.names(), ['hammer'])
})

test('a writer refuses an invalid name or entry', async (t) => {
  const { entries, of } = setUp()
  const { contributions, writer } = of('smith')
  contributions.publish()
  for (const name of ['', 'a/b', '/', 'a\nb', 'x'.repeat(257), null, undefined, 4] as string[]) {
    t.throws(() => writer.add(name, 1), /"smith" adds to .*"tools@1" under the name .* 1 to 256 characters/s)
  }
  for (const entry of [null, undefined] as unknown as number[]) {
    t.throws(
      () => writer.add('hammer', entry),
      /"smith" adds "hammer" .* but the entry is (null|undefined)\./,
    )
  }
  writer.add('a hammer', 0)
  t.same(entries.names(), ['a hammer'])
})

test('the check of a registry refuses a wrong entry where it is added', async (t) => {
  const Saws = defineRegistry<{ cut(): void; teeth?: number }>('saws', 1, ({ cut, teeth = 1 }) => {
    if (typeof cut !== 'function') return 'has no method "cut"'
    return teeth > 0 ? null : 'has no teeth'
  })
  const registries = new Registries()
  const contributions = new Contributions(registries, 'smith')
  const writer = contributions.writer(Saws)
  const add = (entry: unknown) => writer.add('saw', entry as never)
  const refused = (problem: string) => ({
    name: 'TypeError',
    message: `"smith" adds "saw" to the registry "saws@1", but the entry ${problem}.`,
  })
  t.throws(() => add({}), refused('has no method "cut"'))
  t.throws(() => add({ cut() {}, teeth: 0 }), refused('has no teeth'))
  t.throws(() => add('saw'), refused('has no method "cut"'))
  add({ cut() {} })
  contributions.publish()
  t.same(registries.entries('saws@1').names(), ['saw'])
})
