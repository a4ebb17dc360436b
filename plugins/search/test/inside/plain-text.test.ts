import { test } from 'tap'
import { plainText } from '../../src/inside/plain-text.ts'

test('the encoding of a text is found out', async (t) => {
  t.equal(plainText(Buffer.from('Grüße 東京')), 'Grüße 東京')
  t.equal(plainText(Buffer.from('\ufeffGrüße')), 'Grüße', 'a byte order mark is no text')
  t.equal(plainText(Buffer.from('\ufeffGrüße', 'utf16le')), 'Grüße')
  t.equal(plainText(Buffer.from('\ufeffGrüße', 'utf16le').swap16()), 'Grüße')
  t.equal(plainText(Buffer.from('Grüße', 'latin1')), 'Grüße')
  t.equal(plainText(Buffer.from('Gr\x80', 'latin1')), 'Gr€', 'Latin-1 means Windows-1252')
  t.equal(
    plainText(Buffer.from('Grüße').subarray(0, 3)),
    'Gr',
    'the beginning of a text may end within a character',
  )
  t.equal(plainText(Buffer.from('a\tb\r\nc\fd\x1b[0m')), 'a\tb\r\nc\fd\x1b[0m')
})

test('no more is decoded than is needed', async (t) => {
  const decoded = plainText(Buffer.from('東'.repeat(1000)), 10)
  t.match(decoded, /^東{10}/)
  t.ok(decoded.length < 100)
  // Its end is no UTF-8.
  t.match(plainText(Buffer.concat([Buffer.from('é'.repeat(1000)), Buffer.from([0xff])]), 10), /^é{10}/)
})

test('other files are no text', async (t) => {
  for (const content of ['a\0b', '\x7fELF\x02\x01\x01', 'PK\x03\x04'])
    t.throws(() => plainText(Buffer.from(content)), { name: 'Refusal' })
})
