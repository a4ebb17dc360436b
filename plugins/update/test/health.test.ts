import type { Release } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { updateHealth } from '../src/health.ts'
import { RecordFile, type UpdateRecord } from '../src/state/update-record.ts'
import { askedFor } from '../src/updates.ts'

const hours = (count: number) => new Date(Date.now() - count * 60 * 60_000)

async function finding(
  record: Partial<UpdateRecord>,
  {
    newer = null,
    left = null,
    upHours = 0,
  }: { newer?: Release | null; left?: string | null; upHours?: number },
) {
  const { record: empty } = new RecordFile('/nowhere', { warn() {} }, new AbortController().signal)
  const updates = { newer, leftBecause: async () => left }
  const found = await updateHealth(
    updates,
    { record: { ...empty, ...record } },
    () => upHours * 60 * 60_000,
  ).check(new AbortController().signal)
  const { message, ...rest } = found
  // Only what the owner can do something about has a message.
  return { ...rest, hasMessage: message !== undefined }
}

test('the health check tells what the owner has to know', async (t) => {
  const newer = { version: '1.1.0', notes: '' }
  const checkProblem = 'The source cannot be reached.'
  t.same(await finding({}, {}), { ok: true, state: 'current', hasMessage: false })
  t.same(await finding({}, { newer }), { ok: true, state: 'available', hasMessage: true })
  t.same(await finding({}, { newer, left: 'It did not start.' }), {
    ok: false,
    state: 'failed',
    hasMessage: true,
  })
  t.same(await finding({}, { newer, left: askedFor }), { ok: true, state: 'available', hasMessage: true })
  t.same(await finding({ checkProblem, checkedAt: hours(70).toISOString() }, {}), {
    ok: true,
    state: 'current',
    hasMessage: false,
  })
  t.same(await finding({ checkProblem, checkedAt: hours(73).toISOString() }, {}), {
    ok: false,
    state: 'unreachable',
    hasMessage: true,
  })
  t.same(
    await finding({ checkProblem, checkedAt: hours(-1000).toISOString() }, { upHours: 73 }),
    { ok: false, state: 'unreachable', hasMessage: true },
    'the clock was ahead at the last check',
  )
  t.same(
    await finding({ checkProblem }, {}),
    { ok: true, state: 'current', hasMessage: false },
    'the node has just started',
  )
  t.same(await finding({ checkProblem }, { upHours: 73 }), {
    ok: false,
    state: 'unreachable',
    hasMessage: true,
  })
})
