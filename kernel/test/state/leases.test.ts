import { setClock } from '@nodekeep/kernel/testing'
import { type Test, test } from 'tap'
import { openStateDatabase } from '../../src/state/database.ts'
import { KernelLeases } from '../../src/state/leases.ts'
import { stateTables } from '../../src/state/schema.ts'
import { startChild } from './fixtures/child.ts'
import { until } from './fixtures/until.ts'

async function open(t: Test, folder = t.testdir()) {
  const database = await openStateDatabase(folder, stateTables)
  const leases = new KernelLeases(database)
  t.teardown(async () => {
    await leases.close()
    await database.close()
  })
  return { database, leases, folder }
}

test('a lease has one holder at a time, and each holder gets a higher fence', async (t) => {
  const { leases } = await open(t)
  const first = await leases.acquire('backup', 60)
  t.equal(await leases.acquire('backup', 60), null)
  t.ok(await leases.acquire('update', 60), 'another name is another lease')
  await first?.release()
  await first?.release()
  const second = await leases.acquire('backup', 60)
  t.ok(second && first && second.fence > first.fence)
  await first?.release()
  t.equal(await leases.acquire('backup', 60), null, 'an old holder cannot release the lease')
  t.notOk(second?.signal.aborted)
})

test('one of many concurrent calls acquires a lease', async (t) => {
  const { leases } = await open(t)
  const answers = await Promise.all(Array.from({ length: 10 }, () => leases.acquire('backup', 60)))
  t.equal(answers.filter((lease) => lease !== null).length, 1)
})

test('a held lease is renewed', async (t) => {
  const { leases, database } = await open(t)
  const lease = await leases.acquire('backup', 0.3)
  const expires = () => database.use((sql) => Number(sql.get('SELECT expires FROM leases')?.expires))
  const before = await expires()
  await until(async () => (await expires()) > before + 300)
  t.notOk(lease?.signal.aborted)
  t.equal(await leases.acquire('backup', 60), null)
})

test('a lease that another holder acquired is lost', async (t) => {
  const { leases, database } = await open(t)
  const lease = await leases.acquire('backup', 0.3)
  if (!lease) return t.fail('not acquired')
  await database.use((sql) =>
    sql.run('UPDATE leases SET fence = fence + 1, expires = ?', Date.now() + 60_000),
  )
  await until(() => lease.signal.aborted)
  t.match(lease.signal.reason, { message: 'The lease "backup" is lost.' })
  await lease.release()
  t.equal(await leases.acquire('backup', 60), null, 'the new holder keeps the lease')
})

test('a lease that cannot be renewed is lost', async (t) => {
  const { leases, database } = await open(t)
  const lease = await leases.acquire('backup', 0.1)
  if (!lease) return t.fail('not acquired')
  await database.close()
  await until(() => lease.signal.aborted)
  t.pass()
})

test('a close releases held leases and refuses new ones', async (t) => {
  const { leases, database } = await open(t)
  const lease = await leases.acquire('backup', 60)
  await leases.close()
  t.notOk(lease?.signal.aborted, 'released, not lost')
  await t.rejects(leases.acquire('backup', 60), /stopping/)
  const others = new KernelLeases(database)
  t.ok(await others.acquire('backup', 60))
  await others.close()
})

test('a lease that was left behind while the clock was ahead does not hold for years', async (t) => {
  const { database, folder } = await open(t)
  t.teardown(() => setClock(null))
  setClock(new Date('2099-01-01'))
  const ahead = await new KernelLeases(database).acquire('backup', 60)
  t.ok(ahead)
  setClock(null)
  const { leases } = await open(t, folder)
  t.ok(await leases.acquire('backup', 60))
  t.equal(await leases.acquire('backup', 60), null)
})

test('acquire refuses invalid names and durations', async (t) => {
  const { leases } = await open(t)
  await t.rejects(leases.acquire('', 1), /needs a name/)
  for (const seconds of [0, -1, Number.NaN, Infinity, 86_401])
    await t.rejects(leases.acquire('a', seconds), RangeError)
})

test('a lease applies across processes and survives a killed holder only for its duration', async (t) => {
  const { leases, folder } = await open(t)
  const child = startChild('lease-holder.ts', folder, '1')
  t.equal(await child.line(), '1')
  t.equal(await leases.acquire('work', 60), null)
  await child.kill()
  const lease = await until(() => leases.acquire('work', 60))
  t.equal(lease.fence, 2)

  const late = startChild('lease-holder.ts', folder, '60')
  t.equal(await late.line(), 'held')
  await late.kill()
  await lease.release()
  const next = startChild('lease-holder.ts', folder, '60')
  t.equal(await next.line(), '3')
  await next.kill()
})
