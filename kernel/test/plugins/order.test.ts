import fc from 'fast-check'
import { test } from 'tap'
import { type OrderedPlugin, orderPlugins } from '../../src/plugins/order.ts'

const kernelService = 'k@1'
const available = new Set([kernelService])
const explain = (key: string) => `Somebody would have to provide ${key}.`
const order = (plugins: readonly OrderedPlugin[]) => orderPlugins(plugins, available, explain)

const key = fc.constantFrom('a@1', 'b@1', 'c@1', 'd@1', 'e@1', kernelService)
const keys = fc.uniqueArray(key, { maxLength: 2 })
const somePlugins = fc
  .array(fc.record({ provides: keys, requires: keys, optional: keys }), { maxLength: 8 })
  .map((plugins) => plugins.map((plugin, index) => ({ id: `p${index}`, isUp: false, ...plugin })))

const providersOf = (plugins: readonly OrderedPlugin[], service: string) =>
  plugins.filter(({ provides }) => provides.includes(service))

/** Returns the plugins that can be set up: the sole providers of their services whose requirements are available. */
function startablePlugins(plugins: readonly OrderedPlugin[]): Set<OrderedPlugin> {
  const isSole = ({ provides }: OrderedPlugin) =>
    provides.every((service) => !available.has(service) && providersOf(plugins, service).length === 1)
  const up = new Set<OrderedPlugin>()
  const isAvailable = (service: string) =>
    available.has(service) || providersOf(plugins, service).some((provider) => up.has(provider))
  for (let before = -1; before !== up.size; ) {
    before = up.size
    for (const plugin of plugins) if (isSole(plugin) && plugin.requires.every(isAvailable)) up.add(plugin)
  }
  return up
}

/** Returns whether the required and optional services of all plugins allow one order. */
function hasOrder(plugins: readonly OrderedPlugin[]): boolean {
  const remaining = new Set(plugins)
  for (let before = -1; before !== remaining.size; ) {
    before = remaining.size
    for (const plugin of remaining) {
      const needs = [...plugin.requires, ...plugin.optional].filter((service) => !available.has(service))
      if (!needs.some((service) => providersOf([...remaining], service).length > 0)) remaining.delete(plugin)
    }
  }
  return remaining.size === 0
}

test('the order blocks exactly the plugins without a provider, in a circle, or behind such a plugin', async () => {
  fc.assert(
    fc.property(somePlugins, (plugins) => {
      const { ids, blocked } = order(plugins)
      const up = [...startablePlugins(plugins)].map(({ id }) => id)
      return (
        up.toSorted().join() === ids.toSorted().join() &&
        plugins.every(({ id }) => ids.includes(id) !== blocked.has(id)) &&
        [...blocked.values()].every((reason) => reason.endsWith('.'))
      )
    }),
    { numRuns: 500 },
  )
})

test('providers come before dependents', async () => {
  fc.assert(
    fc.property(somePlugins, (plugins) => {
      const { ids } = order(plugins)
      const place = new Map(ids.map((id, index) => [id, index]))
      return plugins.every(({ id, requires }) =>
        requires
          .filter((service) => !available.has(service) && place.has(id))
          .flatMap((service) => providersOf(plugins, service))
          .every((provider) => Number(place.get(provider.id)) < Number(place.get(id))),
      )
    }),
    { numRuns: 500 },
  )
})

test('optional services block no plugin and come first where possible', async () => {
  fc.assert(
    fc.property(somePlugins, (plugins) => {
      const without = plugins.map((plugin) => ({ ...plugin, optional: [] }))
      const { ids, blocked } = order(plugins)
      if ([...blocked.keys()].toSorted().join() !== [...order(without).blocked.keys()].toSorted().join())
        return false
      const up = plugins.filter(({ id }) => ids.includes(id))
      if (!hasOrder(up)) return true
      return up.every(({ id, optional }) =>
        optional
          .filter((service) => !available.has(service))
          .flatMap((service) => providersOf(up, service))
          .every((provider) => ids.indexOf(provider.id) < ids.indexOf(id)),
      )
    }),
    { numRuns: 500 },
  )
})

const plugin = (id: string, more: Partial<OrderedPlugin> = {}): OrderedPlugin => ({
  id,
  isUp: false,
  provides: [],
  requires: [],
  optional: [],
  ...more,
})

test('plugins without services stay in the given order', async (t) => {
  t.same(order(['c', 'a', 'b'].map((id) => plugin(id))).ids, ['c', 'a', 'b'])
})

test('the reason of a blocked plugin names the path, the service and the remedy', async (t) => {
  const { blocked } = order([
    plugin('a', { provides: ['a@1'], requires: ['b@1'] }),
    plugin('b', { provides: ['b@1'], requires: ['a@1'] }),
    plugin('user', { requires: ['a@1'] }),
    plugin('lost', { requires: ['nothing@1'] }),
    plugin('self', { provides: ['self@1'], requires: ['self@1'] }),
    plugin('one', { provides: ['twice@1'] }),
    plugin('two', { provides: ['twice@1'] }),
    plugin('usurper', { provides: [kernelService] }),
  ])
  t.match(blocked.get('a'), 'Plugins require each other: "a" → "b" → "a". Disable one of them.')
  t.equal(blocked.get('a'), blocked.get('b'))
  t.match(blocked.get('user'), 'It needs the service "a@1" of "a", which is blocked too.')
  t.match(blocked.get('lost'), 'which is not available. Somebody would have to provide nothing@1.')
  t.match(blocked.get('self'), '"self" → "self"')
  t.match(blocked.get('one'), 'and so does "two". Choose one with "services": { "twice": "one" }.')
  t.match(blocked.get('two'), 'and so does "one". Choose one with "services": { "twice": "two" }.')
  t.match(blocked.get('usurper'), 'which the kernel itself provides')
})

test('an active plugin keeps its service when another plugin provides it too', async (t) => {
  const { ids, blocked } = order([
    plugin('old', { isUp: true, provides: ['a@1'] }),
    plugin('new', { provides: ['a@1'] }),
    plugin('user', { requires: ['a@1'] }),
  ])
  t.same(ids, ['old', 'user'])
  t.same([...blocked.keys()], ['new'])
})
