import { onSmallDisk } from '@nodekeep/kernel/testing'
import t, { test } from 'tap'

// Other tests may use both processors.
t.setTimeout(120_000)

test('the search leaves the last room of a disk to files, and goes on when there is more', async (t) => {
  const report = await onSmallDisk('700m', new URL('./fixtures/search-on-small-disk.ts', import.meta.url))
  if (report === null) return void t.pass('a full disk', { skip: 'Nothing can be mounted here.' })
  t.strictSame(report, { whileFull: [['/a.txt'], []], words: ['/a.txt'], health: true })
})
