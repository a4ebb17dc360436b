import { ByteReader, encodeUnsigned } from '@nodekeep/plugin-sdk/wasm-binary'
import fc from 'fast-check'
import { test } from 'tap'

test('An unsigned integer is read as it was written', async () => {
  fc.assert(
    fc.property(fc.nat({ max: 2 ** 32 - 1 }), fc.nat(255), (value, next) => {
      const reader = new ByteReader(Buffer.from([...encodeUnsigned(value), next]))
      return reader.unsigned() === value && reader.byte() === next && !reader.more
    }),
  )
})

test('The reader reads sections, names and lists, and skips bytes', async (t) => {
  const reader = new ByteReader(Buffer.from([3, 2, 0x61, 0x62, 2, 5, 6, 0x80, 0x7f, 9, 1]))
  const section = reader.part(1)
  t.equal(section.byte(), 3)
  t.throws(() => section.byte(), RangeError)
  t.equal(reader.name(), 'ab')
  t.strictSame(
    reader.list((from) => from.byte()),
    [5, 6],
  )
  reader.skipInteger()
  reader.skip(1)
  t.equal(reader.byte(), 1)
})

test('An integer that is too long is an error', async (t) => {
  const long = (bytes: number) => new ByteReader(Buffer.from([...Array(bytes - 1).fill(0x80), 0, 0]))
  t.equal(long(10).unsigned(), 0)
  t.throws(() => long(11).unsigned(), RangeError)
})

test('A binary that ends too soon is an error', async (t) => {
  const bytes = Buffer.from([0x80])
  t.throws(() => new ByteReader(bytes).unsigned(), RangeError)
  t.throws(() => new ByteReader(bytes).skipInteger(), RangeError)
  t.throws(() => new ByteReader(bytes).part(2), RangeError)
  t.throws(() => new ByteReader(Buffer.from([9, 0x61])).name(), RangeError)
  t.throws(
    () => new ByteReader(Buffer.from([255, 255, 255, 255, 15])).list((from) => from.byte()),
    RangeError,
  )
})
