import { overlayConformance } from '@nodekeep/plugin-sdk/conformance/overlay'
import { test } from 'tap'
import { timeLimit } from '../../src/conformance/soon.ts'
import { overlayMutants } from './fixtures/overlay-mutants.ts'
import { PaperNetwork, paperHarness } from './fixtures/paper-network.ts'
import { runSuite } from './fixtures/suite-run.ts'

overlayConformance(
  test,
  paperHarness(() => new PaperNetwork()),
)

test('The suite finds the fault of each mutant', async (t) => {
  // If a fault makes a wait endless, the suite finds it only at the end of its time limit.
  timeLimit.ms = 1000
  t.teardown(() => {
    timeLimit.ms = 20_000
  })
  for (const { fault, foundBy, create } of overlayMutants) {
    const outcomes = await runSuite((test) => overlayConformance(test, paperHarness(create)), foundBy)
    const shown = outcomes.map(({ name, outcome }) => `${outcome}: ${name}`)
    t.ok(
      outcomes.some(({ outcome }) => outcome === 'failed'),
      `${fault} ${shown.join('; ')}`,
    )
  }
})

test('A mutant fails each check', async (t) => {
  const names: string[] = []
  overlayConformance(
    (name) => names.push(name),
    paperHarness(() => new PaperNetwork()),
  )
  t.strictSame(
    names.filter((name) => !overlayMutants.some(({ foundBy }) => foundBy.test(name))),
    [],
  )
})
