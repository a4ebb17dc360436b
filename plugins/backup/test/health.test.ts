import { test } from 'tap'
import { backupHealth } from '../src/health.ts'

const never = new AbortController().signal
const ago = (hours: number) => new Date(Date.now() - hours * 3_600_000)
const dueAgo = (hours: number) => ({ due: ago(hours) })

const command = 'npm start -- backup'
const untried = { drills: { last: null }, isRehearsed: null, command }

test('the health check tells a failed, a late and an incomplete backup', async (t) => {
  const attempt = (hours: number, problem: string | null) => ({
    at: ago(hours).toISOString(),
    filename: problem === null ? 'backup-20260101-000000.tar.gz' : null,
    problem,
  })
  for (const [what, last, schedule, areBehind, expected] of [
    ['none yet', null, null, false, { ok: true, state: 'no-backup-yet' }],
    ['none yet, and the first is not due', null, dueAgo(-1), false, { ok: true, state: 'no-backup-yet' }],
    ['a good one', attempt(1, null), null, false, { ok: true, state: 'available' }],
    ['an old one without a schedule', attempt(9999, null), null, false, { ok: true, state: 'available' }],
    ['a failed one', attempt(1, 'The disk is full.'), null, false, { ok: false, state: 'failed' }],
    ['due a short time ago', attempt(3, null), dueAgo(2), false, { ok: true, state: 'available' }],
    ['due long ago', attempt(14, null), dueAgo(13), false, { ok: false, state: 'late' }],
    ['a target lacks one', attempt(1, null), null, true, { ok: false, state: 'incomplete' }],
  ] as const) {
    const check = backupHealth({
      backups: { last },
      schedule,
      targets: { areBehind },
      ...untried,
    })
    const { message, ...finding } = await check.check(never)
    t.strictSame(finding, expected, what)
    t.equal(message !== undefined, finding.state !== 'available', what)
  }
  const { check } = backupHealth({
    backups: { last: null },
    schedule: dueAgo(13),
    targets: { areBehind: false },
    ...untried,
  })
  t.match(await check(never), { ok: false, state: 'late' }, 'the first one never came')
})

test('the health check tells a backup that failed its drill, and a key that nobody has tried', async (t) => {
  const verdict = { filename: 'backup-20260101-000000.tar.gz', at: ago(1).toISOString(), seconds: null }
  const failed = { ...verdict, result: 'failed', problem: 'A file is missing.' } as const
  const passed = { ...verdict, result: 'passed', problem: null } as const
  const parts = {
    backups: { last: { at: ago(1).toISOString(), filename: verdict.filename, problem: null } },
    schedule: null,
    targets: { areBehind: false },
  }
  const check = (last: typeof failed | typeof passed, isRehearsed: (() => Promise<boolean>) | null) =>
    backupHealth({ ...parts, drills: { last }, isRehearsed, command }).check(never)
  t.match(await check(failed, null), { ok: false, state: 'untrusted' })
  t.match(await check(passed, null), { ok: true, state: 'available' })
  const unrehearsed = { ok: true, state: 'unrehearsed', message: /run "npm start -- backup rehearse"/ }
  t.match(await check(passed, async () => false), unrehearsed)
  t.match(await check(passed, async () => true), { ok: true, state: 'available' })
})
