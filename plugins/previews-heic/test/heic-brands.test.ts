import { test } from 'tap'
import { isHeic } from '../src/heic-brands.ts'

/** The first box of a file, with a major brand and compatible ones. */
function head(major: string, compatible: readonly string[], size = 16 + 4 * compatible.length): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(size)
  return Buffer.concat([length, Buffer.from(`ftyp${major}\0\0\0\0${compatible.join('')}`)])
}

test('A file is HEIC by its brands', async (t) => {
  t.equal(isHeic(head('heic', ['mif1'])), true)
  t.equal(isHeic(head('mif1', ['mif1', 'miaf', 'heix'])), true)
  t.equal(
    isHeic(Buffer.concat([Buffer.from('x'), head('msf1', ['hevc'])]).subarray(1)),
    true,
    'within other bytes',
  )
  const others = [
    head('avif', ['mif1', 'miaf']),
    head('isom', ['mp42']),
    head('mp42', [], 8),
    // A version is no brand.
    Buffer.from('\0\0\0\x10ftypmif1heic', 'latin1'),
    // Brands behind the box are none.
    Buffer.concat([head('avif', ['mif1']), Buffer.from('heic')]),
    Buffer.from('\0\0\0\x14ftypmif1', 'latin1'),
    Buffer.from('heic'),
    Buffer.alloc(0),
    Buffer.alloc(4096),
  ]
  for (const other of others) t.equal(isHeic(other), false, other.toString('latin1'))
})
