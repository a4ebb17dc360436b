import { onSmallDisk } from '@nodekeep/kernel/testing'
import { test } from 'tap'

test('uploads leave room for databases on the disk, and the health tells of it before', async (t) => {
  const report = await onSmallDisk('320m', new URL('../fixtures/low-disk-node.ts', import.meta.url))
  if (report === null) return void t.pass('a low disk', { skip: 'Nothing can be mounted here.' })
  t.match(report, {
    plenty: { ok: true, state: 'available' },
    low: [
      {
        status: 'degraded',
        ok: false,
        state: 'low',
        message:
          /almost full: that of the data folder \(6\d(\.\d)? MB; with less than 41\.9 MB, uploads are refused\), the mount "\/".*Free some space/,
      },
      200,
    ],
    large: 507,
    full: [
      { status: 'degraded', ok: false, state: 'full' },
      507,
      { code: 'INSUFFICIENT_STORAGE', reason: null, message: /disk of the node is full.*storage\.reserve/ },
    ],
    byForm: 507,
    others: [200, 200, 200],
    again: [{ ok: true, state: 'available' }, 200],
  })
})
