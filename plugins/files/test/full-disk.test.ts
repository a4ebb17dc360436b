import { test } from 'tap'
import { onSmallDisk } from './fixtures/small-disk.ts'

test('on a full disk the node starts and files can be deleted, and then written again', async (t) => {
  const report = await onSmallDisk(t, '16m', new URL('./fixtures/full-disk-node.ts', import.meta.url))
  if (report === null) return
  t.strictSame(report, {
    upload: 507,
    whileFull: [200, 200],
    folder: 507,
    removed: [200, 200, 200],
    written: 200,
    read: 'new',
  })
})
