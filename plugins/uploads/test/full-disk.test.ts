import { onSmallDisk } from '@nodekeep/kernel/testing'
import { test } from 'tap'

test('an upload survives a full disk, and is stored once there is room', async (t) => {
  const found = await onSmallDisk('220m', new URL('fixtures/uploads-on-small-disk.ts', import.meta.url))
  if (found === null) return t.pass('No small disk can be mounted here.')
  const { etags, ...others } = found as { readonly etags: readonly string[] }
  t.strictSame(others, {
    first: 204,
    full: [507, 'INSUFFICIENT_STORAGE'],
    offset: 1,
    refused: [507, 'INSUFFICIENT_STORAGE'],
    last: 204,
  })
  t.ok(etags[0])
  t.equal(new Set(etags).size, 1)
})
