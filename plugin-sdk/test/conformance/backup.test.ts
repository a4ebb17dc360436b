import { backupConformance } from '@nodekeep/plugin-sdk/conformance/backup'
import { test } from 'tap'
import { timeLimit } from '../../src/conformance/soon.ts'
import { backupMutants } from './fixtures/backup-mutants.ts'
import { PaperShelf, shelfHarness } from './fixtures/paper-shelf.ts'
import { runSuite } from './fixtures/suite-run.ts'

backupConformance(
  test,
  shelfHarness(() => new PaperShelf()),
)

test('The test of a restart is skipped by name', async (t) => {
  const { setUp, restore } = shelfHarness(() => new PaperShelf())
  const withoutRestart = async (folder: string) => {
    const { restart: _, ...subject } = await restore(folder)
    return subject
  }
  const outcomes = await runSuite((test) => backupConformance(test, { setUp, restore: withoutRestart }))
  t.strictSame(
    outcomes.filter(({ outcome }) => outcome !== 'passed').map(({ outcome, name }) => `${outcome}: ${name}`),
    ['skipped: a restore is applied once'],
  )
})

test('The suite finds the fault of each mutant', async (t) => {
  // If a fault makes a wait endless, the suite finds it only at the end of its time limit.
  timeLimit.ms = 1000
  t.teardown(() => {
    timeLimit.ms = 20_000
  })
  for (const { fault, foundBy, create } of backupMutants) {
    const outcomes = await runSuite((test) => backupConformance(test, shelfHarness(create)), foundBy)
    t.ok(
      outcomes.some(({ outcome }) => outcome === 'failed'),
      fault,
    )
  }
})

test('A mutant fails each check', async (t) => {
  const names: string[] = []
  backupConformance(
    (name) => names.push(name),
    shelfHarness(() => new PaperShelf()),
  )
  t.strictSame(
    names.filter((name) => !backupMutants.some(({ foundBy }) => foundBy.test(name))),
    [],
  )
})
