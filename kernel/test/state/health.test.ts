import { test } from 'tap'
import { openStateDatabase } from '../../src/state/database.ts'
import { databaseHealth } from '../../src/state/health.ts'

test('the health check tells whether the database answers', async (t) => {
  const database = await openStateDatabase(t.testdir())
  const health = databaseHealth(database)
  const { signal } = new AbortController()
  t.same(await health.check(signal), { ok: true, state: 'connected' })
  await database.close()
  t.same(await health.check(signal), { ok: false, state: 'unreachable' })
})
