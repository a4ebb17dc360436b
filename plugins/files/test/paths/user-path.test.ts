import { isNodekeepError } from '@nodekeep/plugin-sdk'
import fc from 'fast-check'
import t from 'tap'
import { childOf, isBelow, isWithin, outermost, root, userPath } from '../../src/paths/user-path.ts'

const nasty = fc.constantFrom(
  '.',
  '..',
  '',
  '\0',
  '\\',
  '%2e',
  '%2f',
  ' ',
  'é',
  'é',
  '\ud800',
  '👩‍👧',
  'x'.repeat(256),
)
const anyPath = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.array(fc.oneof(nasty, fc.string({ unit: 'grapheme' }))).map((parts) => `/${parts.join('/')}`),
)

function accepted(path: string): string | null {
  try {
    return userPath(path)
  } catch (error) {
    if (isNodekeepError(error) && error.code === 'VALIDATION_ERROR') return null
    throw error
  }
}

t.test('accepted paths are valid, and changed only by NFC', async () => {
  fc.assert(
    fc.property(anyPath, (path) => {
      const clean = accepted(path)
      if (clean === null || clean === '/') return
      const segments = clean.split('/').slice(1)
      const right = (segment: string) =>
        segment !== '' &&
        segment !== '.' &&
        segment !== '..' &&
        Buffer.byteLength(segment) <= 255 &&
        !/[\0\\]/.test(segment) &&
        segment.isWellFormed() &&
        segment === segment.normalize('NFC')
      if (!clean.startsWith('/') || !segments.every(right)) throw new Error(JSON.stringify(clean))
      if (clean !== path.normalize('NFC')) throw new Error('changed')
      if (Buffer.byteLength(clean) > 4096) throw new Error('too long')
    }),
    { numRuns: 1000 },
  )
})

t.test('an accepted path is stable, and equal to its other Unicode form', async () => {
  fc.assert(
    fc.property(anyPath, (path) => {
      const clean = accepted(path)
      if (clean === null) return
      if (accepted(clean) !== clean || accepted(clean.normalize('NFD')) !== clean) throw new Error(clean)
    }),
    { numRuns: 1000 },
  )
})

t.test('valid paths are accepted unchanged', async (t) => {
  const segments = [
    'a',
    '...',
    '.hidden',
    '..a',
    ' ',
    '%2e%2e',
    'CON',
    'a:b',
    '\u0001',
    '\n',
    'x'.repeat(255),
    '👩‍👩‍👧',
    '~',
    '-rf',
    '*',
  ]
  for (const segment of segments) t.equal(userPath(`/${segment}/${segment}`), `/${segment}/${segment}`)
  t.equal(userPath('/'), '/')
  t.equal(userPath('/e\u0301'), '/\u00e9')
  t.equal(
    userPath(`/${'e\u0301'.repeat(127)}`),
    `/${'\u00e9'.repeat(127)}`,
    'the length is that of the NFC form',
  )
})

t.test('invalid paths are refused with the reason', async (t) => {
  const wrong: [string, RegExp][] = [
    ['', /begin with "\/"/],
    ['a', /begin with "\/"/],
    ['./a', /begin with "\/"/],
    ['//', /end with "\/"/],
    ['/a/', /end with "\/"/],
    ['//a', /"\/\/"/],
    ['/a//b', /"\/\/"/],
    ['/.', /"\." or "\.\."/],
    ['/a/../b', /"\." or "\.\."/],
    ['/..', /"\." or "\.\."/],
    ['/a\0', /NUL/],
    ['/a\\b', /backslash/],
    ['/\ud800', /Unicode/],
    [`/${'x'.repeat(256)}`, /255 bytes/],
    [`/${'é'.repeat(128)}`, /255 bytes/],
    [`/${'🗝'.repeat(64)}`, /255 bytes/],
    ['/ab'.repeat(1366), /4096 bytes/],
    [`/${'a'.repeat(1_000_000)}`, /4096 bytes/],
  ]
  for (const [path, message] of wrong) {
    t.throws(
      () => userPath(path, 'It'),
      { code: 'VALIDATION_ERROR', message },
      JSON.stringify(path.slice(0, 20)),
    )
  }
})

t.test('the children of a path are computed', async (t) => {
  t.equal(childOf(root, 'a'), '/a')
  t.equal(childOf(userPath('/a'), 'b'), '/a/b')
  t.ok(isWithin('/a', '/a') && isWithin('/a/b', '/a') && isWithin('/a', '/') && isWithin('/', '/'))
  t.notOk(isWithin('/ab', '/a') || isWithin('/', '/a') || isBelow('/a', '/a') || isBelow('/', '/'))
})

t.test('of paths within each other, the outermost are left, each once', async (t) => {
  const name = fc.constantFrom('a', 'a!', 'a0', 'b', '\x01')
  const path = fc.array(name, { maxLength: 4 }).map((names) => `/${names.join('/')}`)
  fc.assert(
    fc.property(fc.array(path), (paths) => {
      const expected = [...new Set(paths)].filter((path) => !paths.some((other) => isBelow(path, other)))
      t.strictSame(outermost(paths).sort(), expected.sort())
    }),
  )
})
