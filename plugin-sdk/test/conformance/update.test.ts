import { NodekeepError } from '@nodekeep/plugin-sdk'
import { updateConformance } from '@nodekeep/plugin-sdk/conformance/update'
import { test } from 'tap'
import { timeLimit } from '../../src/conformance/soon.ts'
import { PaperUpdateSource, paperUpdateHarness } from './fixtures/paper-update-source.ts'
import { runSuite } from './fixtures/suite-run.ts'
import { updateMutants } from './fixtures/update-mutants.ts'

updateConformance(
  test,
  paperUpdateHarness((...parts) => new PaperUpdateSource(...parts)),
)

test('The suite finds the fault of each mutant', async (t) => {
  // If a fault makes a wait endless, the suite finds it only at the end of its time limit.
  timeLimit.ms = 1000
  t.teardown(() => {
    timeLimit.ms = 20_000
  })
  for (const { fault, foundBy, create } of updateMutants) {
    const outcomes = await runSuite((test) => updateConformance(test, paperUpdateHarness(create)), foundBy)
    const shown = outcomes.map(({ name, outcome }) => `${outcome}: ${name}`)
    t.ok(
      outcomes.some(({ outcome }) => outcome === 'failed'),
      `${fault} ${shown.join('; ')}`,
    )
  }
})

test('The tests of a server are skipped by name if a source has none', async (t) => {
  const { setUp } = paperUpdateHarness((...parts) => new PaperUpdateSource(...parts))
  const outcomes = await runSuite((test) =>
    updateConformance(test, { setUp: async () => ({ ...(await setUp()), server: null }) }),
  )
  t.strictSame(
    outcomes.filter(({ outcome }) => outcome !== 'passed').map(({ outcome, name }) => `${outcome}: ${name}`),
    [
      'skipped: a source that cannot be reached fails',
      'skipped: a stalled check ends when it is aborted',
      'skipped: a stalled download ends when it is aborted, and leaves nothing',
      'skipped: a list that does not end is refused',
      'skipped: a release that does not end is refused',
      'skipped: a redirect of a check to another origin is not followed',
      'skipped: a redirect of a download to another origin is not followed',
    ],
  )
})

test('The suite tells the causes of an error in place of the reason of the signal', async (t) => {
  class Failing extends PaperUpdateSource {
    override async latest(currentVersion: string, signal: AbortSignal) {
      const cause = new TypeError('fetch failed')
      if (signal.aborted) throw new NodekeepError('UPSTREAM_ERROR', 'The check failed.', { cause })
      return super.latest(currentVersion, signal)
    }
  }
  const harness = paperUpdateHarness((...parts) => new Failing(...parts))
  const [outcome] = await runSuite((test) => updateConformance(test, harness), /before it began/)
  t.match(outcome?.reason, 'failed with The check failed., because of TypeError: fetch failed instead of')
})

test('A mutant fails each check', async (t) => {
  const names: string[] = []
  updateConformance(
    (name) => names.push(name),
    paperUpdateHarness((...parts) => new PaperUpdateSource(...parts)),
  )
  t.strictSame(
    names.filter((name) => !updateMutants.some(({ foundBy }) => foundBy.test(name))),
    [],
  )
})
