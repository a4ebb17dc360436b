// In a process of its own: it waits for processes that have mounts of their own.

import { onSmallDisk } from '@nodekeep/kernel/testing'
import { test } from 'tap'

test('a data folder and storages that are mounts of their own are restored', async (t) => {
  const found = await onSmallDisk('256m', new URL('./fixtures/mounted-node.ts', import.meta.url))
  if (found === null) return void t.pass('mounted folders', { skip: 'Nothing can be mounted here.' })
  t.strictSame(found.devices, 3, 'the folders are on three disks')
  t.strictSame(found.restored, { '/a': 'backup', '/other/a': 'backup', '/bound/a': 'backup' })
  t.strictSame(found.previous, ['present', 'present', 'present'], 'the former files are on their disks')
  t.match(found.refused, {
    status: 400,
    message: /\/data\/plugins cannot be replaced by a rename: it is a mount point, .* Mount the folder above/,
    left: [],
    content: 'present',
  })
})
