import fc from 'fast-check'
import t from 'tap'
import { type DatedVersion, mostVersions, thinned } from '../../src/kept/thinning.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs
const now = Date.UTC(2026, 10, 20, 12)
const keepMs = 30 * dayMs

/** Versions of these ages in milliseconds, the newest first. */
function aged(ages: readonly number[], isHandover = (_index: number) => false): DatedVersion[] {
  const sorted = ages.toSorted((a, b) => a - b)
  return sorted.map((age, index) => ({
    number: 1000 - index,
    at: now - age,
    isHandover: isHandover(index),
  }))
}

function left(versions: readonly DatedVersion[], at = now): DatedVersion[] {
  const gone = new Set(thinned(versions, at, keepMs))
  return versions.filter(({ number }) => !gone.has(number))
}

t.test('all of the last hour stay, then the last one of each hour, then of each day', async (t) => {
  const everyMinute = aged(Array.from({ length: 40 }, (_, n) => n * minuteMs))
  t.strictSame(left(everyMinute), everyMinute)

  const ofHours = left(aged(Array.from({ length: 60 }, (_, n) => 2 * hourMs + 1 + n * 10 * minuteMs)))
  t.strictSame(
    ofHours.map(({ at }) => (now - 1 - at) / hourMs),
    Array.from({ length: 10 }, (_, n) => n + 2),
  )

  const ofDays = left(aged(Array.from({ length: 100 }, (_, n) => 2 * dayMs + n * 3 * hourMs)))
  t.equal(new Set(ofDays.map(({ at }) => Math.floor(at / dayMs))).size, ofDays.length)
  t.equal(ofDays.length, 13)
})

t.test('at most 50 of a file stay, and none that is too old', async (t) => {
  const many = aged(Array.from({ length: 200 }, (_, n) => n * 1000))
  t.strictSame(left(many), many.slice(0, mostVersions))
  const handover = () => true
  const old = aged([keepMs - 1, keepMs, keepMs + 1], handover)
  t.strictSame(left(old), old.slice(0, 1))
})

t.test('what was there before a change of hand stays for the whole time', async (t) => {
  const flood = aged(
    Array.from({ length: 500 }, (_, n) => n * minuteMs),
    (index) => index === 499 || index === 300,
  )
  const numbers = left(flood).map(({ number }) => number)
  t.ok(numbers.includes(1000 - 499))
  t.ok(numbers.includes(1000 - 300))
})

const version = fc.record({
  age: fc.oneof(fc.integer({ min: -dayMs, max: 2 * hourMs }), fc.integer({ min: 0, max: 40 * dayMs })),
  isHandover: fc.boolean(),
})

t.test('any versions', async (t) => {
  const property = fc.property(
    fc.array(version, { maxLength: 300 }),
    fc.integer({ min: 0, max: 40 * dayMs }),
    (drawn, later) => {
      const versions = aged(
        drawn.map(({ age }) => age),
        (index) => drawn[index]?.isHandover ?? false,
      )
      const first = left(versions)
      const isYoung = ({ at }: DatedVersion) => now - at < keepMs
      return (
        left(first).length === first.length &&
        first.every(isYoung) &&
        versions.every((one) => !one.isHandover || !isYoung(one) || first.includes(one)) &&
        first.filter(({ isHandover }) => !isHandover).length <= mostVersions &&
        // The newest one stays, unless it is too old.
        (versions[0] === undefined || !isYoung(versions[0]) || first[0] === versions[0]) &&
        // Each day has a version as long as there is room, however often the versions were thinned before.
        left(first, now + later).every((one) => left(versions, now + later).includes(one))
      )
    },
  )
  t.doesNotThrow(() => fc.assert(property, { numRuns: 1000 }))
})
