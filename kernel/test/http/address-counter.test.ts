import { setTimeout as wait } from 'node:timers/promises'
import { test } from 'tap'
import { AddressCounter } from '../../src/http/address-counter.ts'

test('a counter counts by client, in a window and in bounded memory', async (t) => {
  const events = new AddressCounter({ windowMs: 60_000, capacity: 3 })
  const counts = (address: string) => [1, 2, 3].map(() => events.count(address).count)
  t.same(counts('a1'), [1, 2, 3])
  t.equal(events.count('no address either').count, 4, 'all clients without an address count as one')
  t.same(counts('10.0.0.1'), [1, 2, 3])
  t.same(counts('10.0.0.2'), [1, 2, 3])
  t.same(counts('10.0.0.1'), [4, 5, 6])
  t.same(counts('10.0.0.3'), [1, 2, 3])
  t.equal(events.count('unknown').count, 1, 'the oldest client was evicted')
  t.match(String(events.count('10.0.0.3').seconds), /^(59|60)$/)
})

test('a window ends by the monotonic clock', async (t) => {
  const events = new AddressCounter({ windowMs: 50, capacity: 3 })
  t.same(events.count('10.0.0.1'), { count: 1, seconds: 1 }, 'the rest is in whole seconds and at least 1')
  t.equal(events.count('10.0.0.1').count, 2)
  const now = Date.now
  t.teardown(() => {
    Date.now = now
  })
  Date.now = () => now() - 3_600_000
  await wait(80)
  t.equal(events.count('10.0.0.1').count, 1, 'a clock that is set back does not extend the window')
})
