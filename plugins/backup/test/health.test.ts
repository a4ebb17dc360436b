import { test } from 'tap'
import { backupHealth } from '../src/health.ts'
import { Schedule } from '../src/schedule/schedule.ts'

const never = new AbortController().signal
const ago = (hours: number) => new Date(Date.now() - hours * 3_600_000)
const hourly = new Schedule('0 * * * *')

test('the health check tells a failed, a late and an incomplete backup', async (t) => {
  const attempt = (hours: number, problem: string | null) => ({
    at: ago(hours).toISOString(),
    filename: problem === null ? 'backup-20260101-000000.tar.gz' : null,
    problem,
  })
  for (const [what, last, schedule, areBehind, expected] of [
    ['none yet', null, null, false, { ok: true, state: 'none' }],
    ['none yet, and the first is not due', null, hourly, false, { ok: true, state: 'none' }],
    ['a good one', attempt(1, null), null, false, { ok: true, state: 'available' }],
    ['an old one without a schedule', attempt(9999, null), null, false, { ok: true, state: 'available' }],
    ['a failed one', attempt(1, 'The disk is full.'), null, false, { ok: false, state: 'failed' }],
    ['due a short time ago', attempt(3, null), hourly, false, { ok: true, state: 'available' }],
    ['due long ago', attempt(14, null), hourly, false, { ok: false, state: 'late' }],
    ['a target lacks one', attempt(1, null), null, true, { ok: false, state: 'incomplete' }],
  ] as const) {
    const check = backupHealth({ backups: { last }, schedule, targets: { areBehind }, startedAt: ago(0) })
    t.strictSame(await check.check(never), expected, what)
  }
  const { check } = backupHealth({
    backups: { last: null },
    schedule: hourly,
    targets: { areBehind: false },
    startedAt: ago(14),
  })
  t.match(await check(never), { ok: false, state: 'late' }, 'the first one never came')
})
