import { onSmallDisk } from '@nodekeep/kernel/testing'
import { test } from 'tap'

test('a node on a disk that uploads filled starts and deletes files, and refuses a deletion without loss if other programs filled the rest', async (t) => {
  const report = await onSmallDisk('16m', new URL('./fixtures/full-disk-node.ts', import.meta.url))
  if (report === null) return void t.pass('a full disk', { skip: 'Nothing can be mounted here.' })
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

test('files can be deleted on a disk that is full to the last byte, also after the node was killed there', async (t) => {
  const report = await onSmallDisk('64m', new URL('./fixtures/killed-on-full-disk.ts', import.meta.url))
  if (report === null) return void t.pass('a full disk', { skip: 'Nothing can be mounted here.' })
  t.strictSame(report, { stored: 200, refused: 507, deletedWhileFull: 200, read: 200, deleted: 200 })
})
