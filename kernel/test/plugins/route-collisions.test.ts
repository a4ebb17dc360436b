import { test } from 'tap'
import { type RouteMount, RouteTable } from '../../src/http/route-table.ts'

const mountOf = (owner: string, ...paths: readonly string[]): RouteMount => ({
  owner,
  routes: paths.map((path) => ({
    method: 'GET',
    path,
    access: 'user',
    publicReason: null,
    scope: null,
    websocket: false,
    schema: null,
    sharedSchemas: [],
  })),
  foreignErrors: [],
  handle: () => {},
  upgrade: () => false,
})

const colliding = [
  ['/a', '/a'],
  ['/a/:x', '/a/:y'],
  ['/a/:x/b', '/a/:longer/b'],
  ['/a/:x?', '/a'],
  ['/a', '/a/:x?'],
  ['/a/:x?', '/a/:y'],
  ['/:x?', '/'],
  ['/a/:x-:y', '/a/:p-:q'],
  ['/a/:x.json', '/a/:y.json'],
  [String.raw`/a/:x(\d+)`, String.raw`/a/:y(\d+)`],
  ['/a/*', '/a/*'],
  ['*', '/*'],
] as const

const different = [
  ['/a', '/A'],
  ['/a', '/a/'],
  ['/a/:x', '/a/b'],
  ['/a/:x', '/a/*'],
  ['/a/:x.json', '/a/:x'],
  [String.raw`/a/:x(\d+)`, '/a/:x'],
] as const

test('a plugin with a taken route is refused with the name of the other plugin', async (t) => {
  for (const [first, second] of colliding) {
    const table = new RouteTable()
    table.mount(mountOf('one', first))
    const { mounts } = table
    const message = `The route GET ${second} belongs to "one" already. Disable one of the two plugins.`
    t.throws(
      () => table.mount(mountOf('two', '/own', second)),
      { code: 'CONFLICT', message },
      `${first} ${second}`,
    )
    t.equal(table.mounts, mounts, 'the table is unchanged')
    t.notOk(table.mounts.has('two'))
    t.not(table.find('GET', '/own')?.mount.owner, 'two')
  }
})

test('different routes coexist', async (t) => {
  for (const [first, second] of different) {
    const table = new RouteTable()
    table.mount(mountOf('one', first))
    table.mount(mountOf('two', second))
    t.equal(table.routes.length, 2, `${first} ${second}`)
  }
})
