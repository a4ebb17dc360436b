import { onSmallDisk } from '@nodekeep/kernel/testing'
import { test } from 'tap'

test('a full disk takes no previews from those who ask', async (t) => {
  const report = await onSmallDisk('64m', new URL('./fixtures/previews-on-small-disk.ts', import.meta.url))
  if (report === null) return void t.pass('a full disk', { skip: 'Nothing can be mounted here.' })
  const expected = { kept: 200, made: 200, photos: ['/png.png'] }
  t.strictSame(report, { full: expected, afterwards: expected })
})
