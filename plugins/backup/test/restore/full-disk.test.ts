// In a process of its own: the disk is a mount that a process apart has.

import { onSmallDisk } from '@nodekeep/kernel/testing'
import { test } from 'tap'

test('a full disk ends the restore, leaves nothing of it, and a restore works once there is room', async (t) => {
  const found = await onSmallDisk('64m', new URL('./fixtures/full-disk-node.ts', import.meta.url))
  if (found === null) return void t.pass('a full disk', { skip: 'Nothing can be mounted here.' })
  const { tooLarge, unpacked, spared, brimful, withRoom, restored } = found
  const refused = { status: 507, code: 'INSUFFICIENT_STORAGE', left: [], content: 'present' }
  t.strictSame(tooLarge, refused, 'the archive is larger than the free space')
  t.strictSame(unpacked, refused, 'what it holds is larger than the free space')
  t.strictSame(spared, refused, 'it would take the room that deletions need')
  t.strictSame(brimful, refused, 'no byte is free')
  t.match(withRoom, { status: 200, content: 'present' })
  t.equal(restored, 'backup')
})
