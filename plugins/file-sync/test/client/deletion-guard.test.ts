import t from 'tap'
import { DeletionGuard } from '../../src/client/deletion-guard.ts'

const minute = 60_000

t.test('many deletions that are most of the files are held until they are confirmed', async (t) => {
  const guard = new DeletionGuard({ files: 50, share: 0.5 })
  t.ok(guard.allows(50, 50, 0), 'few')
  t.ok(guard.allows(60, 120, 0), 'not more than half')
  t.notOk(guard.allows(61, 120, 0))
  guard.confirm(61)
  t.ok(guard.allows(61, 120, 0))
  t.notOk(guard.allows(62, 120, 0), 'more than were confirmed')
})

t.test('confirmed deletions happen one by one, and count no more afterwards', async (t) => {
  const guard = new DeletionGuard({ files: 50, share: 0.5 })
  guard.confirm(61)
  for (let planned = 61; planned > 0; planned -= 1) {
    t.ok(guard.allows(planned, planned + 59, 0))
    guard.count(0)
  }
  t.ok(guard.allows(50, 59, 0), 'few others')
  t.notOk(guard.allows(51, 59, 0), 'those were confirmed, and no others')
})

t.test('the share is one of all files, those included that are gone already', async (t) => {
  const guard = new DeletionGuard({ files: 50, share: 0.5 })
  for (let count = 0; count < 59; count += 1) guard.count(0)
  t.ok(guard.allows(1, 61, 0), '60 of 120')
  t.notOk(guard.allows(2, 61, 0), '61 of 120')
})

t.test('deletions that are seen in parts count together for ten minutes', async (t) => {
  const guard = new DeletionGuard({ files: 50, share: 0.5 })
  for (let count = 0; count < 40; count += 1) guard.count(count)
  t.notOk(guard.allows(20, 60, minute))
  t.ok(guard.allows(20, 60, 11 * minute))
})
