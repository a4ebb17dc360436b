import fc from 'fast-check'
import { test } from 'tap'
import { isReserved, parseSubdomain } from '../../src/registration/subdomain.ts'

test('a name is one label of the DNS, in lower case', async (t) => {
  for (const name of ['a', 'me', 'Me', 'ME', 'a-b', 'a--b', 'me2', '2me', '42', 'a'.repeat(63)])
    t.equal(parseSubdomain(name), name.toLowerCase(), name)
})

test('anything else is refused', async (t) => {
  for (const name of [
    '',
    '-',
    '-a',
    'a-',
    'a'.repeat(64),
    'a.b',
    'a.',
    '.a',
    'a_b',
    '_dmarc',
    '*',
    'a b',
    ' a',
    'a\n',
    'a\0',
    'a/b',
    'a:1',
    'a@b',
    'xn--mnchen-3ya',
    'XN--A',
    'ab--c',
    'münchen',
    'ｍe',
    'm\u0435', // a Cyrillic letter
    '\u212a', // the Kelvin sign, which is "k" in lower case
    '\u0131',
    'me\u200b',
  ])
    t.throws(() => parseSubdomain(name), { code: 'VALIDATION_ERROR' }, JSON.stringify(name))
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 8 }), (text) => {
      try {
        return /^[a-z0-9-]{1,63}$/.test(parseSubdomain(text))
      } catch {
        return true
      }
    }),
  )
})

test('names of the gateway itself are reserved', async (t) => {
  for (const name of ['www', 'mail', 'api', 'gateway', 'admin', 'localhost', 'wpad', 'postmaster', 'ns1'])
    t.ok(isReserved(name, []), name)
  t.notOk(isReserved('me', []))
  t.ok(isReserved('me', ['me']))
  t.notOk(isReserved('', []))
})
