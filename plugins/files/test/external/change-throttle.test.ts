import fc from 'fast-check'
import t from 'tap'
import { ChangeThrottle } from '../../src/external/change-throttle.ts'
import { type UserPath, userPath } from '../../src/paths/user-path.ts'

const file = userPath('/log')

/** A program that changes one file, and a node that scans it, in simulated time. */
function simulate(changesAt: readonly number[], path: UserPath = file) {
  let now = 0
  let state = 0
  let recorded = 0
  const throttle = new ChangeThrottle(() => now)
  const rows: { readonly at: number; readonly state: number }[] = []
  const scan = () => {
    if (state === recorded || !throttle.allows(path)) return
    rows.push({ at: now, state })
    recorded = state
    throttle.recorded(path)
  }
  const scanWhenDue = (until: number) => {
    for (let ms = throttle.dueInMs; ms !== null && now + ms <= until; ms = throttle.dueInMs) {
      now += ms
      if (throttle.takeDue().includes(path)) scan()
    }
    now = until
  }
  for (const [index, at] of changesAt.entries()) {
    scanWhenDue(at)
    state = index + 1
    if (throttle.isWaiting(path)) throttle.notice(path)
    else scan()
  }
  scanWhenDue(Number.MAX_SAFE_INTEGER)
  return rows
}

/** Milliseconds from the start at which something changes, every so often. */
const every = (ms: number, duringMs: number) =>
  Array.from({ length: Math.floor(duringMs / ms) }, (_, index) => index * ms)

t.test('whenever a file changes, its rows are few, and the last one comes soon', async () => {
  const gaps = fc
    .constantFrom([1, 200], [1, 8000], [5000, 5100], [1, 200_000])
    .chain(([min, max]) => fc.array(fc.integer({ min, max }), { minLength: 1, maxLength: 400, size: 'max' }))
  const property = fc.property(gaps, (gaps) => {
    let at = 0
    const changesAt = gaps.map((gap) => {
      at += gap
      return at
    })
    const rows = simulate(changesAt)
    const last = rows.at(-1)
    if (last?.state !== changesAt.length) throw new Error('the last state has no row')
    if (last.at - at > 5000) throw new Error(`the last row came after ${last.at - at} ms`)
    for (const { at, state } of rows) {
      const lateBy = at - (changesAt[state - 1] ?? 0)
      if (lateBy > 60_000) throw new Error(`a row came ${lateBy} ms late`)
    }
    for (const [index, { at: begin }] of rows.entries()) {
      const inMinute = rows.slice(index).filter(({ at }) => at < begin + 60_000).length
      // Rows at 0, 0.25, 0.75, 1.75 and 3.75 seconds, then one in 5 seconds.
      if (inMinute > 16) throw new Error(`${inMinute} rows in a minute`)
    }
  })
  fc.assert(property, {
    numRuns: Number(process.env.TEST_RUNS ?? 500),
    seed: Number(process.env.TEST_SEED ?? 4200),
  })
})

t.test('while a file changes all the time, the pause doubles up to a minute', async (t) => {
  const rows = simulate(every(10, 600_000))
  const gaps = rows.map(({ at }, index) => at - (rows[index - 1]?.at ?? 0))
  t.strictSame(gaps.slice(0, 6), [0, 250, 500, 1000, 2000, 4000])
  t.strictSame(new Set(gaps.slice(9, -1)), new Set([60_000]))
  t.equal(rows.length, 18)
})

t.test('a file that rests for minutes begins with the first pause again', async (t) => {
  const busy = every(10, 60_000)
  const rows = simulate([...busy, ...busy.map((at) => at + 300_000)])
  t.strictSame(
    rows.filter(({ at }) => at >= 300_000).map(({ at }) => at - 300_000),
    rows.filter(({ at }) => at < 300_000).map(({ at }) => at),
  )
})

t.test('what is in a folder waits for the folder, and nothing else waits', async (t) => {
  let now = 0
  const throttle = new ChangeThrottle(() => now)
  const [folder, inside, beside] = [userPath('/a'), userPath('/a/b/c'), userPath('/ab')]
  throttle.recorded(folder)
  t.notOk(throttle.allows(folder))
  t.notOk(throttle.allows(inside))
  t.notOk(throttle.isWaiting(inside))
  t.ok(throttle.allows(beside))
  now = 250
  t.strictSame(throttle.takeDue(), [folder])
  t.ok(throttle.allows(folder))
  t.ok(throttle.allows(inside))
  t.equal(throttle.dueInMs, null)
})

t.test('only so many paths are remembered', async (t) => {
  let now = 0
  const throttle = new ChangeThrottle(() => now)
  for (let index = 0; index <= 20_000; index += 1) throttle.recorded(userPath(`/${index}`))
  t.notOk(throttle.allows(userPath('/19999')))
  t.ok(throttle.allows(userPath('/20000')), 'one more has no pause')
  now = 200_000
  t.strictSame(throttle.takeDue(), [userPath('/19999')])
  throttle.recorded(userPath('/20000'))
  t.notOk(throttle.allows(userPath('/20000')), 'the old ones are forgotten')
})
