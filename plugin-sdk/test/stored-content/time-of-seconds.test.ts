import t from 'tap'
import { timeOfSeconds } from '../../src/stored-content/time-of-seconds.ts'

t.test('seconds since 1970 are a time, and parts of a millisecond are cut', async (t) => {
  for (const [text, iso] of [
    ['0', '1970-01-01T00:00:00.000Z'],
    ['981173106', '2001-02-03T04:05:06.000Z'],
    ['981173106.123456789', '2001-02-03T04:05:06.123Z'],
    // The product with 1000 is 0.001 less as a floating-point number.
    ['1.001', '1970-01-01T00:00:01.001Z'],
    ['-1.5', '1969-12-31T23:59:58.500Z'],
    ['8640000000000', '+275760-09-13T00:00:00.000Z'],
  ] as const)
    t.equal(timeOfSeconds(text)?.toISOString(), iso, text)
})

t.test('other texts are none', async (t) => {
  for (const text of ['', ' 1', '1e3', '1.', '.5', '+1', 'Infinity', '1,5', '8640000000001', '1.0123456789'])
    t.equal(timeOfSeconds(text), null, text)
})
