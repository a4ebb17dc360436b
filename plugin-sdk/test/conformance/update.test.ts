import { updateConformance } from '@nodekeep/plugin-sdk/conformance/update'
import { test } from 'tap'
import { timeLimit } from '../../src/conformance/soon.ts'
import { PaperUpdateSource, paperUpdateHarness } from './fixtures/paper-update-source.ts'
import { runSuite } from './fixtures/suite-run.ts'
import { updateMutants } from './fixtures/update-mutants.ts'

updateConformance(
  test,
  paperUpdateHarness(() => new PaperUpdateSource()),
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

test('A mutant fails each check', async (t) => {
  const names: string[] = []
  updateConformance(
    (name) => names.push(name),
    paperUpdateHarness(() => new PaperUpdateSource()),
  )
  t.strictSame(
    names.filter((name) => !updateMutants.some(({ foundBy }) => foundBy.test(name))),
    [],
  )
})
