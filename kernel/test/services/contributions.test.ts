import { test } from 'tap'
import { Contributions } from '../../src/services/contributions.ts'
import { Registries } from '../../src/services/registry.ts'

const tools = 'tools@1'

function setUp() {
  const registries = new Registries()
  const entries = registries.entries(tools)
  let changes = 0
  entries.listen(() => {
    changes += 1
  })
  const of = (owner: string) => {
    const contributions = new Contributions(registries, owner)
    return { contributions, writer: contributions.writer<number>(tools) }
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
    t.throws(() => writer.add(name, 1), /"smith" adds to a registry under the name .* 1 to 256 characters/s)
  }
  for (const entry of [null, undefined] as unknown as number[]) {
    t.throws(() => writer.add('hammer', entry), /"smith" adds nothing under the name "hammer"/)
  }
  writer.add('a hammer', 0)
  t.same(entries.names(), ['a hammer'])
})
