import { notAfterNow } from '@nodekeep/plugin-sdk'
import { test } from 'tap'

test('nothing has happened after now', async (t) => {
  const now = new Date('2026-03-04T05:06:07.089Z')
  for (const past of ['1969-12-31T23:59:59Z', '1970-01-01', '2026-03-04T05:06:07.088Z', now.toISOString()]) {
    t.same(notAfterNow(new Date(past), now), new Date(past), past)
  }
  for (const future of ['2026-03-04T05:06:07.090Z', '2099-01-01', 'no date']) {
    t.same(notAfterNow(new Date(future), now), now, future)
  }
  const before = Date.now()
  const counted = notAfterNow(new Date(before + 60_000)).getTime()
  t.ok(counted >= before && counted <= Date.now(), 'the present is that of the clock')
})
