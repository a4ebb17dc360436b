import {
  type BaseContext,
  definePlugin,
  defineService,
  HealthChecks,
  isPlugin,
  Type,
  Users,
} from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { loadSecondCopy } from './fixtures/second-copy.ts'

test('A plugin keeps the declarations of its author', async (t) => {
  const config = Type.Object({ limit: Type.Integer() })
  const Geocoding = defineService<string>('acme-geocoder', 1)
  const plugin = definePlugin({
    id: 'acme',
    description: 'Finds places.',
    config,
    requires: { users: Users },
    optional: { checks: HealthChecks },
    contributes: { health: HealthChecks },
    provides: { geocoder: Geocoding },
    setup: () => ({ geocoder: 'here' }),
  })
  t.equal(plugin.id, 'acme')
  t.equal(plugin.description, 'Finds places.')
  t.equal(plugin.config, config)
  t.strictSame(plugin.requires, { users: Users })
  t.strictSame(plugin.optional, { checks: HealthChecks })
  t.strictSame(plugin.contributes, { health: HealthChecks })
  t.strictSame(plugin.provides, { geocoder: Geocoding })
  t.strictSame(plugin.setup({}), { geocoder: 'here' })
  t.ok(Object.isFrozen(plugin))
})

test('Missing declarations are empty', async (t) => {
  const plugin = definePlugin({ id: 'acme', setup() {} })
  t.match(plugin, { description: '', config: null })
  for (const part of ['requires', 'optional', 'contributes', 'provides'] as const)
    t.strictSame(plugin[part], {})
})

test('The setup function gets the context of the kernel, and its own definition as this', async (t) => {
  const definition = {
    id: 'acme',
    seen: [] as unknown[],
    setup(context: BaseContext<object>) {
      this.seen.push(context)
    },
  }
  const context = {}
  definePlugin(definition).setup(context)
  t.equal(definition.seen[0], context)
})

test('Only plugins of this or another copy of the SDK are recognized', async (t) => {
  const other = await loadSecondCopy(t)
  const foreign = other.definePlugin({ id: 'acme', setup() {} })
  t.ok(isPlugin(foreign))
  t.ok(other.isPlugin(definePlugin({ id: 'acme', setup() {} })))
  for (const value of [{ id: 'acme', setup() {} }, () => {}, 'acme', null, undefined])
    t.notOk(isPlugin(value))
})

test('An id that no configuration could name is refused', async (t) => {
  for (const id of ['', 'Notes', 'my notes', 'notes_2', '-notes', undefined as never]) {
    t.throws(() => definePlugin({ id, setup() {} }), /is not an id: use lower case words joined by dashes/)
  }
})
