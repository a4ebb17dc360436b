import fc from 'fast-check'
import createRouter, { type HTTPMethod } from 'find-my-way'
import { test } from 'tap'
import { type MountedRoute, type RouteMount, RouteTable, routerOptions } from '../../src/http/route-table.ts'

const methods = ['GET', 'POST'] as const
const segment = fc.constantFrom('a', 'b', 'ab', 'A', 'a.b', '~', ':id', '*', '')
const target = fc.constantFrom('a', 'b', 'ab', 'A', 'a.b', '%61', '~', 'a?b', '')

function pathOf(segments: readonly string[]): string {
  const star = segments.indexOf('*')
  return `/${(star < 0 ? segments : segments.slice(0, star + 1)).join('/')}`
}

function routeOf(method: string, path: string): MountedRoute {
  const known = { access: 'public', publicReason: null, scope: null, websocket: false } as const
  return { ...known, method, path, schema: undefined, sharedSchemas: [] }
}

function mountOf(routes: readonly MountedRoute[]): RouteMount {
  return { owner: 'some', routes, foreignErrors: [], handle() {}, upgrade: () => false }
}

test('the table finds the route that the router of a plugin with the same routes finds', (t) => {
  const paths = fc.uniqueArray(fc.array(segment, { minLength: 1, maxLength: 3 }).map(pathOf), {
    minLength: 1,
    maxLength: 6,
  })
  const targets = fc.array(
    fc.array(target, { minLength: 1, maxLength: 3 }).map((some) => `/${some.join('/')}`),
    {
      minLength: 1,
      maxLength: 20,
    },
  )
  fc.assert(
    fc.property(paths, targets, (paths, targets) => {
      const table = new RouteTable()
      const router = createRouter(routerOptions)
      const routes = paths.map((path, index) => routeOf(methods[index % 2] as string, path))
      table.mount(mountOf(routes))
      for (const { method, path } of routes) router.on(method as HTTPMethod, path, () => {}, path)
      for (const url of [...targets, ...paths]) {
        for (const method of methods) {
          const expected = router.find(method, url)?.store ?? null
          t.equal(table.find(method, url)?.route.path ?? null, expected, `${method} ${url}`)
        }
      }
    }),
  )
  t.end()
})

test('the table does not find a removed route', (t) => {
  const table = new RouteTable()
  table.mount(mountOf([routeOf('GET', '/a')]))
  t.equal(table.find('GET', '/a')?.mount.owner, 'some')
  t.equal(table.find('GET', '/a?b=c')?.mount.owner, 'some')
  t.equal(table.find('POST', '/a'), null)
  table.unmount('some')
  t.equal(table.find('GET', '/a'), null)
  t.end()
})
