import { test } from 'tap'
import { exifOf } from '../../src/sandbox/exif-item.ts'

const exif = Buffer.from('II*\0\x08\0\0\0 and so on')
/** The item: the number of bytes before the TIFF header, and these. */
const item = Buffer.concat([uint32(6), Buffer.from('Exif\0\0'), exif])

function uint16(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(2 * values.length)
  for (const [index, value] of values.entries()) bytes.writeUInt16BE(value, 2 * index)
  return bytes
}

function uint32(...values: readonly number[]): Buffer {
  return uint16(...values.flatMap((value) => [value >>> 16, value & 0xffff]))
}

function box(type: string, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts)
  return Buffer.concat([uint32(8 + body.length), Buffer.from(type), body])
}

/** A box with a version. Flags are 0. */
function fullBox(type: string, version: number, ...parts: readonly Buffer[]): Buffer {
  return box(type, uint32(version << 24), ...parts)
}

/** The list of two items, of which the second one is Exif. */
function itemInformation(version: number): Buffer {
  const infe = (id: number, type: string) =>
    fullBox('infe', version, version === 2 ? uint16(id) : uint32(id), uint16(0), Buffer.from(`${type}\0`))
  return fullBox(
    'iinf',
    version === 2 ? 0 : 1,
    version === 2 ? uint16(2) : uint32(2),
    infe(1, 'hvc1'),
    infe(2, 'Exif'),
  )
}

/** A file whose Exif item lies behind the boxes. */
function file(iinf: Buffer, iloc: (offset: number) => Buffer): Buffer {
  const before = (offset: number) =>
    Buffer.concat([
      box('ftyp', Buffer.from('heic\0\0\0\0mif1')),
      fullBox('meta', 0, fullBox('hdlr', 0, Buffer.alloc(20)), iinf, iloc(offset)),
    ])
  const begin = before(0).length + 8
  return Buffer.concat([before(begin), box('mdat', item)])
}

const plain = (offset: number) =>
  fullBox(
    'iloc',
    0,
    uint16(0x4400, 2),
    // Numbers of the items, where the data are, how many extents there are, and the extents.
    ...[uint16(1, 0, 2), uint32(1, 2), uint32(3, 4)],
    ...[uint16(2, 0, 1), uint32(offset, item.length)],
  )

test('Exif data are found in the forms that files have', async (t) => {
  t.strictSame(exifOf(file(itemInformation(2), plain)), exif)
  const withBase = (offset: number) =>
    fullBox(
      'iloc',
      1,
      uint16(0x4444, 1),
      uint16(2, 0, 0),
      uint32(offset - 5),
      uint16(1),
      uint32(7, 5, item.length),
    )
  t.strictSame(exifOf(file(itemInformation(3), withBase)), exif, 'with a base and an index')
  const long = (offset: number) =>
    fullBox(
      'iloc',
      2,
      uint16(0x8800),
      uint32(1),
      uint32(2),
      uint16(0, 0, 1),
      uint32(0, offset, 0, item.length),
    )
  t.strictSame(exifOf(file(itemInformation(3), long)), exif, 'with long numbers')
  const inMeta = fullBox(
    'meta',
    0,
    box('idat', Buffer.from('xyz'), item),
    itemInformation(2),
    fullBox('iloc', 1, uint16(0x4400, 1), uint16(2, 1, 0, 1), uint32(3, item.length)),
  )
  t.strictSame(exifOf(inMeta), exif, 'within the box of metadata')
})

test('A file without Exif data, or with lies about them, has none', async (t) => {
  const whole = file(itemInformation(2), plain)
  const others = [
    Buffer.alloc(0),
    Buffer.from('This is a text and no picture.'),
    box('ftyp', Buffer.from('heic')),
    file(fullBox('iinf', 0, uint16(0)), plain),
    file(itemInformation(2), () => fullBox('iloc', 0, uint16(0x4400, 0))),
    file(itemInformation(2), () => plain(2 ** 31)),
    file(itemInformation(2), () => fullBox('iloc', 0, uint16(0xff00, 1), uint16(2, 0, 1))),
    file(itemInformation(2), () => fullBox('iloc', 1, uint16(0x4400, 1), uint16(2, 3, 0, 1), uint32(0, 9))),
  ]
  for (const [index, other] of others.entries()) t.equal(exifOf(other), null, String(index))
  for (let length = 0; length < whole.length - 20; length += 1) {
    t.equal(exifOf(whole.subarray(0, length)), null, `${length} bytes of it`)
  }
  const manyItems = fullBox('iloc', 0, uint16(0, 0xffff), Buffer.alloc(6 * 0xffff, 0xff))
  t.equal(
    exifOf(file(itemInformation(2), () => manyItems)),
    null,
    'many items with many extents without bytes',
  )
})
