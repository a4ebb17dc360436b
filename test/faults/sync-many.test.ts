import { test } from 'tap'
import { syncMany } from './sync-many.ts'

test('a device gets many files at once, and many changes after it was away', async (t) => {
  const peaks = await syncMany(200, (line) => t.comment(line))
  t.equal(peaks.length, 4)
})
