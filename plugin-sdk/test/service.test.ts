import { defineEvent, defineRegistry, defineService, tokenKey } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { loadSecondCopy } from './fixtures/second-copy.ts'

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
})

test('An event token has only its name', async (t) => {
  const event = defineEvent<number>('acme.counted')
  t.strictSame(event, { name: 'acme.counted' })
  t.ok(Object.isFrozen(event))
})
