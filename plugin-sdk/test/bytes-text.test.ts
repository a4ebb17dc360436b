import { bytesText } from '@nodekeep/plugin-sdk/bytes-text'
import { test } from 'tap'

test('a number of bytes is written in the largest unit that fits', async (t) => {
  const written = {
    '0 B': 0,
    '999 B': 999,
    '1 kB': 1000,
    '1.5 kB': 1500,
    '100 kB': 100_400,
    '50 GB': 50e9,
    '2.2 TB': 2.2e12,
    '1,500 TB': 1.5e15,
  }
  for (const [text, bytes] of Object.entries(written)) t.equal(bytesText(bytes), text)
  t.equal(bytesText(1500, 'de'), '1,5 kB')
})
