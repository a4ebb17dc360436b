import { webPageConformance } from '@nodekeep/plugin-sdk/conformance/web-page'
import { test } from 'tap'
import { pageMutants } from './fixtures/page-mutants.ts'
import { pageSubject } from './fixtures/paper-page.ts'
import { runSuite } from './fixtures/suite-run.ts'

const shown = [
  'the page shows something each time',
  'the function returns nothing, or a function that ends the page',
  'the page keeps to the Content-Security-Policy',
  'the end of the page leaves nothing behind',
]

test('A page passes the suite, and without a browser its tests are skipped by name', async (t) => {
  const outcomes = await runSuite((test) => webPageConformance(test, { setUp: () => pageSubject() }))
  const named = (wanted: string) =>
    outcomes.filter(({ outcome }) => outcome === wanted).map(({ name }) => name)
  t.strictSame(named('failed'), [])
  t.strictSame(named('skipped'), shown)
  t.equal(named('passed').length, 6)
})

test('A module that runs in a browser only is skipped where there is none', async (t) => {
  const files = { 'page.js': 'const body = document.body\nexport default () => body' }
  const setUp = () => pageSubject({ files })
  const outcomes = await runSuite((test) => webPageConformance(test, { setUp }), /default export/)
  t.match(outcomes, [{ outcome: 'skipped', reason: /^The module runs in a browser only/ }])
})

test('The suite finds the fault of each mutant', async (t) => {
  for (const { fault, foundBy, ...changes } of pageMutants) {
    const setUp = () => pageSubject(changes)
    const outcomes = await runSuite((test) => webPageConformance(test, { setUp }), foundBy)
    t.ok(
      outcomes.some(({ outcome }) => outcome === 'failed'),
      fault,
    )
  }
})

// The tests that need a browser have their mutants in test/web/page-conformance.test.ts.
test('A mutant fails each check', async (t) => {
  const names: string[] = []
  webPageConformance((name) => names.push(name), { setUp: () => pageSubject() })
  t.strictSame(
    names.filter((name) => !pageMutants.some(({ foundBy }) => foundBy.test(name))),
    shown,
  )
})
