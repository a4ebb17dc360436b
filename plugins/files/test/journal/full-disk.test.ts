import { onSmallDisk } from '@nodekeep/kernel/testing'
import { test } from 'tap'

test('a full disk refuses intents, and loses no outcome', async (t) => {
  const script = new URL('./fixtures/full-disk-writer.ts', import.meta.url)
  const report = await onSmallDisk('600k', script)
  if (report === null) return void t.pass('a full disk', { skip: 'Nothing can be mounted here.' })
  const { code, begun, pendingWhileFull, readable } = report
  t.equal(code, 'INSUFFICIENT_STORAGE')
  t.ok(
    Number(begun) > 0 && Number(pendingWhileFull) > 0,
    `${begun} begun, ${pendingWhileFull} of them pending on the full disk`,
  )
  t.equal(readable, begun, 'committed changes can be read as soon as there is free space')
})
