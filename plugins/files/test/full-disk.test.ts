import { test } from 'tap'
import { onSmallDisk } from './fixtures/small-disk.ts'

test('on a disk that uploads filled, the node starts and files can be deleted; when other programs filled the rest, a deletion is refused and loses nothing', async (t) => {
  const report = await onSmallDisk(t, '16m', new URL('./fixtures/full-disk-node.ts', import.meta.url))
  if (report === null) return
  t.strictSame(report, {
    upload: 507,
    whileFull: [200, 200],
    folder: 507,
    refused: [507, 507],
    kept: 256 * 1024,
    removed: [200, 200],
    written: 200,
    read: 'new',
  })
})
