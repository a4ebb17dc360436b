import {
  type BaseContext,
  definePlugin,
  defineRegistry,
  defineService,
  HealthChecks,
  Type,
  UserDirectory,
} from '@nodekeep/plugin-sdk'
import { isPlugin } from '@nodekeep/plugin-sdk/host'
import { test } from 'tap'
import { loadSecondCopy } from './fixtures/second-copy.ts'

test('A plugin keeps the declarations of its author', async (t) => {
  const config = Type.Object({ limit: Type.Integer() })
  const Geocoding = defineService<string>('acme-geocoder', 1)
  const plugin = definePlugin({
    id: 'acme',
    description: 'Finds places.',
    config,
    requires: { users: UserDirectory },
    optional: { checks: HealthChecks },
    contributes: { health: HealthChecks },
    provides: { geocoder: Geocoding },
    setup: () => ({ geocoder: 'here' }),
  })
  t.equal(plugin.id, 'acme')
  t.equal(plugin.description, 'Finds places.')
  t.equal(plugin.config, config)
  t.strictSame(plugin.requires, { users: UserDirectory })
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
  const seen: unknown[] = []
  const definition = {
    id: 'acme',
    setup(context: BaseContext<object>) {
      seen.push(this, context)
    },
  }
  const context = {}
  definePlugin(definition).setup(context)
  t.equal(seen[0], definition)
  t.equal(seen[1], context)
})

test('Wrong fields of a definition are refused at run time too', async (t) => {
  const setup = () => {}
  const [clock, tools] = [defineService('clock', 1), defineRegistry('tools', 1)]
  const wrong: [definition: object, message: RegExp][] = [
    [
      { id: 'acme', setup, confg: {} },
      /"confg" is not a field of a plugin\. The fields are id, description, config,/,
    ],
    [{ id: 'acme' }, /"setup" is missing, or not a function/],
    [{ id: 'acme', setup: 'later' }, /"setup" is missing, or not a function/],
    [{ id: 'acme', setup, config: Type.String() }, /"config" must be the schema of an object: Type\.Object/],
    [{ id: 'acme', setup, config: { size: Type.Integer() } }, /"config" must be the schema of an object/],
    [{ id: 'acme', setup, requires: ['users'] }, /"requires" must be an object: names of your choice/],
    [{ id: 'acme', setup, optional: { files: 'files' } }, /value of "files" in "optional" is not a service/],
    [{ id: 'acme', setup, requires: { files: null } }, /value of "files" in "requires" is not a service/],
    [{ id: 'acme', setup, provides: { tools } }, /"tools" in "provides" is not a service/],
    [{ id: 'acme', setup, contributes: { clock } }, /"clock" in "contributes" is not a registry/],
    [
      { id: 'acme', setup, requires: { clock, tools }, optional: { tools } },
      /"tools" is in "requires" and in "optional"/,
    ],
    [setup, /pass one object, with "id" and "setup"/],
  ]
  for (const [definition, message] of wrong) t.throws(() => definePlugin(definition as never), message)
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
  t.throws(() => definePlugin({ id: undefined as never, setup() {} }), /An id must be a text/)
  for (const id of ['', 'Notes', 'my notes', 'notes_2', '-notes']) {
    t.throws(() => definePlugin({ id, setup() {} }), /is not an id: use lower case words joined by dashes/)
  }
})
