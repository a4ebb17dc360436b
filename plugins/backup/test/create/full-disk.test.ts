// In a process of its own: the disk is a mount that a process apart has.
import t, { test } from 'tap'
import { onSmallDisk } from '../archive/fixtures/small-disk.ts'

t.setTimeout(120_000)

test('a full disk ends the backup, and the other writes of the node go on', async (t) => {
  const found = await onSmallDisk(t, '64m', new URL('./fixtures/full-disk-node.ts', import.meta.url))
  if (found === null) return
  t.match(found, { backup: { status: 507, code: 'INSUFFICIENT_STORAGE' }, listed: [], left: [], refused: [] })
  t.match(found, { moment: { code: 'INSUFFICIENT_STORAGE' }, afterMoment: [] })
  t.ok((found.writes as number) > 0)
  t.ok((found.leastFree as number) > 8, `the node kept ${found.leastFree} MiB free`)
})
