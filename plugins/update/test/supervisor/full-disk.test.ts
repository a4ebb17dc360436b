import { onSmallDisk } from '@nodekeep/kernel/testing'
import { test } from 'tap'

test('a full disk does not keep a node from going back, and the reason is stored', async (t) => {
  const found = await onSmallDisk('32m', new URL('./fixtures/full-disk-program.ts', import.meta.url))
  if (found === null) return void t.pass('a full disk', { skip: 'Nothing can be mounted here.' })
  const attempt = { from: '2.0.0', to: '1.0.0', result: 'went back', reason: 'It is broken.' }
  const back = { closed: null, current: '1.0.0', later: attempt, change: null }
  t.match(found, {
    withoutReserve: { ...back, attempt: null, errors: 2 },
    withReserve: { ...back, attempt, errors: 0 },
  })
})
