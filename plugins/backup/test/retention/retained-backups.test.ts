import fc from 'fast-check'
import { test } from 'tap'
import { retainedBackups, sentenceOfTotal, totalOf } from '../../src/retention/retained-backups.ts'

/** Backups of these moments, newest first. */
function backupsAt(...moments: string[]) {
  return moments.map((moment) => ({ created: new Date(moment) })).sort((a, b) => +b.created - +a.created)
}

const now = new Date('2026-11-24T00:00Z')

function keptOf(moments: string[], keep: Parameters<typeof retainedBackups>[1]): string[] {
  return [...retainedBackups(backupsAt(...moments), keep, now)]
    .map(({ created }) => created.toISOString().slice(0, 16))
    .sort()
}

test('each number keeps the newest backup of its periods, counted in UTC', async (t) => {
  const nights = [
    '2026-11-16T03:00Z',
    '2026-11-21T03:00Z',
    '2026-11-22T03:00Z',
    '2026-11-22T23:59Z',
    '2026-11-23T00:00Z',
  ]
  t.strictSame(keptOf(nights, { last: 2 }), ['2026-11-22T23:59', '2026-11-23T00:00'])
  t.strictSame(keptOf(nights, { daily: 2 }), ['2026-11-22T23:59', '2026-11-23T00:00'])
  // 2026-11-16 and 2026-11-23 are Mondays.
  t.strictSame(keptOf(nights, { weekly: 2 }), ['2026-11-22T23:59', '2026-11-23T00:00'])
  t.strictSame(keptOf(['2026-01-31T00:00Z', '2026-02-01T00:00Z', '2026-02-28T00:00Z'], { monthly: 2 }), [
    '2026-01-31T00:00',
    '2026-02-28T00:00',
  ])
  t.strictSame(keptOf(['2026-01-01T00:00Z', '2026-06-01T00:00Z'], { daily: 2 }), [
    '2026-01-01T00:00',
    '2026-06-01T00:00',
  ])
})

test('the newest backup stays, whatever the numbers say', async (t) => {
  t.strictSame(keptOf(['2026-11-21T00:00Z', '2026-11-22T00:00Z'], {}), ['2026-11-22T00:00'])
  t.strictSame(keptOf(['2026-11-22T00:00Z'], { last: 0, daily: 0 }), ['2026-11-22T00:00'])
  t.strictSame(keptOf([], { last: 3 }), [])
})

test('backups of the future stay, and take no place of another one', async (t) => {
  const ahead = ['2099-01-01T00:00', '2099-01-02T00:00']
  const nights = ['2026-11-21T03:00', '2026-11-22T03:00', '2026-11-23T03:00']
  for (const [keep, kept] of [
    [{}, nights.slice(2)],
    [{ last: 2 }, nights.slice(1)],
    [{ daily: 2 }, nights.slice(1)],
    [{ last: 1, monthly: 1 }, nights.slice(2)],
  ] as const) {
    t.strictSame(
      keptOf(
        [...nights, ...ahead].map((moment) => `${moment}Z`),
        keep,
      ),
      [...kept, ...ahead],
    )
  }
})

test('a later look never misses a backup that an earlier one deleted', async () => {
  const moment = fc.date({ min: new Date('2020-01-01'), max: new Date('2030-01-01'), noInvalidDate: true })
  const number = fc.integer({ min: 0, max: 5 })
  const numbers = fc.record({ last: number, daily: number, weekly: number, monthly: number })
  fc.assert(
    fc.property(fc.array(moment, { maxLength: 60 }), numbers, (moments, keep) => {
      const all = moments.map((created) => ({ created })).sort((a, b) => +b.created - +a.created)
      const kept = retainedBackups(all, keep, now)
      const left = all.filter((backup) => kept.has(backup))
      // The kept backups are kept again, so a second run deletes nothing.
      return retainedBackups(left, keep, now).size === left.length
    }),
  )
})

test('people are told what the backups take, and what the next one leaves of them', async (t) => {
  const mebibyte = 1024 ** 2
  const backups = backupsAt('2026-11-22T01:00Z', '2026-11-23T01:00Z', '2026-11-23T02:00Z').map((backup) => ({
    ...backup,
    filename: backup.created.toISOString().slice(0, 13),
    size: 2 * mebibyte,
  }))
  const all = totalOf(backups, undefined, now)
  t.strictSame(all, { backups: 3, bytes: 6 * mebibyte, deletedNext: null })
  t.equal(
    sentenceOfTotal(all),
    '3 backups take together 6 MiB. All backups stay, because `backup.keep` is not set.',
  )
  const some = totalOf(backups, { daily: 3 }, now)
  t.strictSame(some.deletedNext, ['2026-11-23T01'])
  t.match(sentenceOfTotal(some), / deletes 1 of them, and 2 stay\.$/)
  t.strictSame(totalOf(backups, {}, now).deletedNext?.length, 3, 'the next one stays')
  t.match(sentenceOfTotal(totalOf(backups, { last: 4 }, now)), / deletes none of them\.$/)
  t.equal(sentenceOfTotal(totalOf([], {}, now)), null)
  const ahead = new Date('2026-11-23T01:30Z')
  t.strictSame(
    totalOf(backups, { last: 1 }, ahead).deletedNext,
    ['2026-11-23T01', '2026-11-22T01'],
    'one of the future stays',
  )
})
