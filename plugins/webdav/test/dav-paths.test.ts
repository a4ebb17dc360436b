import { test } from 'tap'
import { destinationOf, hrefOf, targetOf } from '../src/dav-paths.ts'

test('an address becomes a path, and a path an address', async (t) => {
  for (const [address, path] of [
    ['/dav', '/'],
    ['/dav/', '/'],
    ['/dav/a%20b', '/a b'],
    ['/dav/a/b/', '/a/b'],
    ['/dav//a///b', '/a/b'],
    ['/dav/a?x=/y', '/a'],
    ['/dav/%C3%BC%26%23%3F%25', '/ü&#?%'],
    ['/dav/u%CC%88', '/ü'],
  ] as const)
    t.equal(targetOf(address).path, path, address)
  t.equal(targetOf('/dav/a/').hasSlash, true)
  t.equal(targetOf('/dav/a').hasSlash, false)
  t.equal(hrefOf('/', true), '/dav/')
  t.equal(hrefOf('/ü&#?%/a b', true), '/dav/%C3%BC%26%23%3F%25/a%20b/')
  t.equal(hrefOf('/a', false), '/dav/a')
})

test('an address that does not name one path is refused', async (t) => {
  for (const address of [
    '/',
    '/davy/a',
    '/dav/a#b',
    '/dav/%2f',
    '/dav/a%2Fb',
    '/dav/%',
    '/dav/%zz',
    '/dav/%ff',
    '/dav/ü',
    `/dav/${'a'.repeat(5000)}`,
  ])
    t.throws(() => targetOf(address), { code: 'VALIDATION_ERROR' }, address)
})

test('a destination is a path, or an address of this node', async (t) => {
  const at = (destination: string, hostname = 'node.test') =>
    destinationOf({ headers: { destination }, hostname })
  t.equal(at('/dav/a').path, '/a')
  t.equal(at('http://node.test/dav/a%20b').path, '/a b')
  t.equal(at('https://NODE.test:8443/dav/a/').path, '/a')
  t.equal(at('https://ada@node.test/dav').path, '/')
  t.equal(at('http://[::1]:4200/dav/a', '[::1]').path, '/a')
  for (const destination of [
    'http://other.test/dav/a',
    'ftp://node.test/dav/a',
    'http://[',
    '/a',
    '/',
    'dav/a',
  ])
    t.throws(() => at(destination), { code: 'FORBIDDEN' }, destination)
  t.throws(() => at(''), { code: 'VALIDATION_ERROR' })
  t.throws(() => at('/dav/a%2Fb'), { code: 'VALIDATION_ERROR' })
})
