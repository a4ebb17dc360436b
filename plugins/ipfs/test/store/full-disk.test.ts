import { onSmallDisk } from '@nodekeep/kernel/testing'
import t from 'tap'

t.test('a full disk costs no block, and removing files makes room again', async (t) => {
  const found = await onSmallDisk('8m', new URL('fixtures/full-disk.ts', import.meta.url))
  if (found === null) return void t.pass('a small disk cannot be mounted here', { skip: true })
  t.match(found, {
    onFullDisk: 'INSUFFICIENT_STORAGE',
    refusal: 'INSUFFICIENT_STORAGE',
    areWhole: true,
    fault: null,
    afterwards: 'done',
    isKept: true,
    damaged: 0,
  })
  t.ok(Number(found.packs) < Number(found.before))
})
