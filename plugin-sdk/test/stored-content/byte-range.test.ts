import fc from 'fast-check'
import t from 'tap'
import { byteRange } from '../../src/stored-content/byte-range.ts'

t.test('a single range selects its bytes', async (t) => {
  t.strictSame(byteRange('bytes=0-0', 10), { start: 0, end: 0 })
  t.strictSame(byteRange('bytes=2-4', 10), { start: 2, end: 4 })
  t.strictSame(byteRange('Bytes=2-', 10), { start: 2, end: 9 })
  t.strictSame(byteRange('bytes=-3', 10), { start: 7, end: 9 })
  t.strictSame(byteRange('bytes= 2-4 ', 10), { start: 2, end: 4 })
  t.strictSame(byteRange('bytes=5-99999999999999999999', 10), { start: 5, end: 9 })
  t.strictSame(byteRange('bytes=-99999999999999999999', 10), { start: 0, end: 9 })
})

t.test('a range outside the file cannot be satisfied', async (t) => {
  for (const range of ['bytes=10-', 'bytes=10-20', 'bytes=-0', 'bytes=99999999999999999999-']) {
    t.equal(byteRange(range, 10), 'unsatisfiable', range)
  }
  for (const range of ['bytes=0-', 'bytes=0-0', 'bytes=-1'])
    t.equal(byteRange(range, 0), 'unsatisfiable', range)
})

t.test('malformed headers, several ranges and other units select the whole file', async (t) => {
  const headers = [
    '',
    'bytes',
    'bytes=',
    'bytes=-',
    'bytes=a-b',
    'bytes=1-0',
    'bytes=0-1,3-4',
    'bytes=0x1-2',
    'items=0-1',
    'bytes=1.5-2',
    'bytes=+1-2',
    'bytes=--1',
    'bytes:0-1',
  ]
  for (const header of [undefined, ...headers]) t.equal(byteRange(header, 10), null, header ?? 'none')
})

t.test('a range equals a slice', async () => {
  const number = fc.nat({ max: 30 })
  fc.assert(
    fc.property(number, number, fc.option(number), fc.boolean(), (size, first, last, isSuffix) => {
      const bytes = Array.from({ length: size }, (_, index) => index)
      const header = isSuffix ? `bytes=-${first}` : `bytes=${first}-${last ?? ''}`
      const wanted = isSuffix
        ? first === 0
          ? []
          : bytes.slice(-first)
        : bytes.slice(first, last === null ? undefined : last + 1)
      const range = byteRange(header, size)
      if (range === null) return !isSuffix && last !== null && last < first
      if (range === 'unsatisfiable') return wanted.length === 0
      return (
        JSON.stringify(bytes.slice(range.start, range.end + 1)) === JSON.stringify(wanted) &&
        wanted.length > 0
      )
    }),
  )
})
