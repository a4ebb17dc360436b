import { test } from 'tap'
import { onSmallDisk } from '../fixtures/small-disk.ts'

test('a full disk refuses intents, and loses no outcome', async (t) => {
  const script = new URL('./fixtures/full-disk-writer.ts', import.meta.url)
  const report = await onSmallDisk(t, '600k', script)
  if (report === null) return
  const { code, begun, pendingWhileFull, readable } = report
  t.equal(code, 'INSUFFICIENT_STORAGE')
  t.ok(
    Number(begun) > 0 && Number(pendingWhileFull) > 0,
    `${begun} begun, ${pendingWhileFull} of them pending on the full disk`,
  )
  t.equal(readable, begun, 'committed changes can be read as soon as there is free space')
})
