// In a process of its own: the disk is a mount that a process apart has.

import { onSmallDisk } from '@nodekeep/kernel/testing'
import { test } from 'tap'

test('a full disk ends the backup, and the other writes of the node go on', async (t) => {
  const found = await onSmallDisk('64m', new URL('./fixtures/full-disk-node.ts', import.meta.url))
  if (found === null) return void t.pass('a full disk', { skip: 'Nothing can be mounted here.' })
  t.match(found, { backup: { status: 507, code: 'INSUFFICIENT_STORAGE' }, listed: [], left: [], refused: [] })
  t.match(found, { moment: { code: 'INSUFFICIENT_STORAGE' }, afterMoment: [] })
  t.ok((found.writes as number) > 0)
  t.ok((found.leastFree as number) > 8, `the node kept ${found.leastFree} MiB free`)
})
