import { modelNames } from '@nodekeep/plugin-sdk/model-servers'
import { test } from 'tap'

test('Values that are no names of models are left out', async (t) => {
  const longest = 'x'.repeat(512)
  const sent = ['a', 'b', 'a', '', 7, null, undefined, { id: 'c' }, longest, `${longest}x`]
  t.strictSame(modelNames(sent), ['a', 'b', longest])
})

test('No more than 10,000 names are taken', async (t) => {
  let taken = 0
  function* endless() {
    for (;;) {
      taken += 1
      yield `model-${taken}`
    }
  }
  t.equal(modelNames(endless()).length, 10_000)
  t.equal(taken, 10_001)
})
