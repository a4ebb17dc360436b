import { onSmallDisk } from '@nodekeep/kernel/testing'
import { test } from 'tap'

test('the search leaves the last room of a disk to files, and goes on when there is more', async (t) => {
  const report = await onSmallDisk('700m', new URL('./fixtures/search-on-small-disk.ts', import.meta.url))
  if (report === null) return void t.pass('a full disk', { skip: 'Nothing can be mounted here.' })
  t.strictSame(report, { whileFull: [['/a.txt'], []], words: ['/a.txt'], health: true })
})
