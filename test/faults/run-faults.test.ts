import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'tap'
import type { Fault } from './fault.ts'
import { randomOf } from './random.ts'
import { type FaultsOptions, runFaults } from './run-faults.ts'

/** Runs one part named `x`, and returns its counts and output. */
async function run(fault: Partial<Fault>, options: Partial<FaultsOptions> = {}) {
  const printed: string[] = []
  const whole: Fault = { name: 'It holds.', defaultRounds: 3, round: async () => {}, ...fault }
  const print = (line: string) => printed.push(line)
  const counts = await runFaults(new Map([['x', whole]]), { seed: 7, minutes: 1, print, ...options })
  return { counts, printed: printed.join('\n') }
}

test('each round has its own seed, and the output has a command that repeats a failed round', async (t) => {
  const drawn: number[] = []
  const fault: Partial<Fault> = {
    async round({ seed, random, log }) {
      drawn.push(random.integer(1, 1_000_000))
      log(`wrote ${drawn.at(-1)}`)
      if (seed === 8) throw new Error('the row was lost')
    },
  }
  const { counts, printed } = await run(fault)
  t.strictSame(counts, { passed: 2, failed: 1, skipped: 0 })
  t.match(printed, 'repeat it: npm run test:faults -- x --rounds 1 --seed 8')
  t.match(printed, 'the row was lost')
  t.match(printed, `wrote ${drawn[1]}`, 'the output has the log of the failed round')
  t.notMatch(printed, `wrote ${drawn[0]}`, 'the output does not have the log of other rounds')

  await run(fault, { seed: 8, rounds: 1 })
  t.equal(drawn.at(-1), drawn[1], 'the round is repeated exactly')
})

test('a round that times out fails, and its signal is aborted', async (t) => {
  let stopped = false
  const { counts, printed } = await run({
    defaultRounds: 1,
    roundSeconds: 0.02,
    round: ({ signal }) =>
      delay(60_000, undefined, { signal }).catch(() => {
        stopped = true
      }),
  })
  t.strictSame(counts, { passed: 0, failed: 1, skipped: 0 })
  t.match(printed, /took longer than 0\.02 s/)
  t.ok(stopped)
})

test('the remaining rounds count as skipped when the time is up', async (t) => {
  const { counts, printed } = await run({}, { minutes: 0 })
  t.strictSame(counts, { passed: 0, failed: 0, skipped: 3 })
  t.match(printed, '3 rounds were not run')
})

test('a seed always gives the same values, and an adjacent seed gives others', async (t) => {
  const draw = (seed: number) => {
    const random = randomOf(seed)
    return [
      random.integer(0, 1e9),
      random.float(),
      random.bytes(8).toString('hex'),
      random.pick(['a', 'b', 'c']),
    ]
  }
  t.strictSame(draw(1), draw(1))
  t.not(draw(1)[0], draw(2)[0])
  const random = randomOf(3)
  const dice = Array.from({ length: 6000 }, () => random.integer(1, 6))
  for (let face = 1; face <= 6; face += 1) {
    const share = dice.filter((value) => value === face).length / dice.length
    t.ok(share > 0.14 && share < 0.19, `${face} comes in ${share} of all throws`)
  }
  t.notOk(random.chance(0))
  t.ok(random.chance(1))
})

test('the rounds of a part that this machine cannot run count as skipped, and the reason is printed', async (t) => {
  const { counts, printed } = await run({ missing: 'It needs the program nodekeep-hammer.' })
  t.strictSame(counts, { passed: 0, failed: 0, skipped: 3 })
  t.match(printed, 'not run: It needs the program nodekeep-hammer.')
})
