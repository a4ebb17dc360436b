import {
  AiProviders,
  BackupParticipants,
  createStorageBackend,
  defineEvent,
  defineRegistry,
  defineService,
  HealthChecks,
  LoginProviders,
  PublicOrigins,
  type Registry,
  StorageBackends,
  UserData,
  WasmRuntimes,
} from '@nodekeep/plugin-sdk'
import { tokenKey } from '@nodekeep/plugin-sdk/host'
import { test } from 'tap'
import { loadSecondCopy } from './fixtures/second-copy.ts'
import { PaperDriver } from './storage/fixtures/paper-driver.ts'

test('A token has its kind, id and major, and is frozen', async (t) => {
  const service = defineService('acme-geocoder', 2)
  const registry = defineRegistry('acme-maps', 1)
  t.strictSame(service, { kind: 'service', id: 'acme-geocoder', major: 2 })
  t.strictSame(registry, { kind: 'registry', id: 'acme-maps', major: 1 })
  t.ok(Object.isFrozen(service) && Object.isFrozen(registry))
})

test('The key of a token is id@major in every copy of the SDK', async (t) => {
  const other = await loadSecondCopy(t)
  t.equal(tokenKey(defineService('acme-geocoder', 2)), 'acme-geocoder@2')
  t.equal(tokenKey(other.defineService('acme-geocoder', 2)), 'acme-geocoder@2')
  t.equal(other.tokenKey(defineRegistry('maps', 1)), 'maps@1')
  t.not(tokenKey(defineService('acme-geocoder', 3)), 'acme-geocoder@2')
})

test('An id consists of lower case words joined by dashes', async (t) => {
  for (const id of ['a', 'files', 'change-log', 'acme-v2', 'a1-2b']) t.equal(defineService(id, 1).id, id)
  for (const id of [
    '',
    'Files',
    'acme_geocoder',
    'acme.geocoder',
    '2fast',
    '-a',
    'a-',
    'a--b',
    'a@1',
    'ä',
    ' a',
  ]) {
    t.throws(() => defineService(id, 1), { name: 'TypeError', message: `"${id}" is not an id` })
    t.throws(() => defineRegistry(id, 1), TypeError)
  }
  for (const id of [{ id: 'acme', major: 1 }, undefined, 7]) {
    const message = `An id must be a text, such as "acme-geocoder". This one is of the type ${typeof id}.`
    t.throws(() => defineService(id as never, 1), new TypeError(message))
  }
})

test('An event token has only its name', async (t) => {
  const event = defineEvent<number>('acme.counted')
  t.strictSame(event, { name: 'acme.counted' })
  t.ok(Object.isFrozen(event))
})

test('The registries of Nodekeep say what an entry lacks', async (t) => {
  const noop = () => {}
  const files = {
    stat: noop,
    list: noop,
    read: noop,
    write: noop,
    makeDirectory: noop,
    remove: noop,
    move: noop,
  }
  const backend = { supports: {}, probe: noop, close: noop, ...files }
  const findings: [Registry<unknown>, entry: unknown, finding: string | null][] = [
    [AiProviders, {}, 'has no method "models"'],
    [AiProviders, { models: noop, chat: noop }, null],
    [BackupParticipants, {}, 'has no method "prepare"'],
    [HealthChecks, { check: true }, 'has no method "check"'],
    [LoginProviders, {}, 'has no method "verify"'],
    [PublicOrigins, 'tunnel:me', 'is no http or https address such as "https://me.example.org"'],
    [PublicOrigins, 'me.example.org', 'is no http or https address such as "https://me.example.org"'],
    [PublicOrigins, 'https://me.example.org', null],
    [UserData, {}, 'has no method "erase"'],
    [StorageBackends, {}, 'has no object "supports"'],
    [StorageBackends, { ...backend, remove: undefined }, 'has no method "remove"'],
    [StorageBackends, { ...backend, move: undefined }, null],
    [
      StorageBackends,
      { ...backend, move: undefined, supports: { atomicFolders: true } },
      'has "supports.atomicFolders", but no method "move"',
    ],
    [StorageBackends, new PaperDriver(), 'is a driver: pass it to "createStorageBackend"'],
    [StorageBackends, createStorageBackend(new PaperDriver()), null],
    [StorageBackends, backend, null],
    [WasmRuntimes, {}, 'has no "supports"'],
    [WasmRuntimes, { supports: { functions: true }, exports: noop }, 'has no method "call"'],
    [WasmRuntimes, { supports: { programs: true } }, 'has no method "run"'],
    [WasmRuntimes, { supports: { programs: true }, run: noop }, null],
  ]
  for (const [registry, entry, finding] of findings) t.equal(registry.check?.(entry), finding, registry.id)
})
