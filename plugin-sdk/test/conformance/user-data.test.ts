import { userDataConformance } from '@nodekeep/plugin-sdk/conformance/user-data'
import { test } from 'tap'
import { diarySubject, PaperDiary } from './fixtures/paper-diary.ts'
import { runSuite } from './fixtures/suite-run.ts'
import { userDataMutants } from './fixtures/user-data-mutants.ts'

const harnessOf = (create: () => PaperDiary) => ({ setUp: async () => diarySubject(create()) })

userDataConformance(
  test,
  harnessOf(() => new PaperDiary()),
)

test('Tests for abilities that a harness does not have are skipped by name', async (t) => {
  const setUp = async () => {
    const { restart: _, obstruct: __, ...subject } = diarySubject(new PaperDiary())
    return subject
  }
  const outcomes = await runSuite((test) => userDataConformance(test, { setUp }))
  t.strictSame(
    outcomes.filter(({ outcome }) => outcome !== 'passed').map(({ outcome, name }) => `${outcome}: ${name}`),
    [
      'skipped: a removal that fails rejects, and the next one completes it',
      'skipped: removed data do not come back with a restart',
      'skipped: data from before a restart are removed',
    ],
  )
})

test('The suite finds the fault of each mutant', async (t) => {
  for (const { fault, foundBy, create } of userDataMutants) {
    const outcomes = await runSuite((test) => userDataConformance(test, harnessOf(create)), foundBy)
    t.ok(
      outcomes.some(({ outcome }) => outcome === 'failed'),
      fault,
    )
  }
})

test('A mutant fails each check', async (t) => {
  const names: string[] = []
  userDataConformance(
    (name) => names.push(name),
    harnessOf(() => new PaperDiary()),
  )
  t.strictSame(
    names.filter((name) => !userDataMutants.some(({ foundBy }) => foundBy.test(name))),
    [],
  )
})

test('A plugin without data passes no test', async (t) => {
  const empty = () => Object.assign(new PaperDiary(), { write: () => {} })
  const outcomes = await runSuite((test) => userDataConformance(test, harnessOf(empty)))
  t.ok(outcomes.every(({ outcome }) => outcome === 'failed'))
})
