import { test } from 'tap'
import { ofWholeParts, overBudget, partOf, withoutBudget } from './budget.ts'
import { findTestFiles } from './test-files.ts'

test("a part is a package's test folder, or a folder under test/", async (t) => {
  t.equal(partOf('kernel/test/auth/session.test.ts'), 'kernel/test')
  t.equal(partOf('plugins/files/test/http/read.test.ts'), 'plugins/files/test')
  t.equal(partOf('test/loader/broken/import.test.ts'), 'test/loader')
  t.equal(partOf('test/contract.test.ts'), 'test')
})

test('a part over twice its recorded time fails, and is told what to do, most costly part first', async (t) => {
  const record = new Map([
    ['kernel/test', 40],
    ['plugins/files/test', 20],
    ['test/web', 100],
  ])
  const used = new Map([
    ['kernel/test', 80],
    ['plugins/files/test', 40.1],
    ['test/web', 200.5],
  ])
  t.match(overBudget(used, record), [
    /^test\/web used 200\.5 s of CPU; the budget is 200 s, twice the recorded time\./,
    /^plugins\/files\/test used 40\.1 s .* raise it in the commit that adds the tests: npm test -- --record plugins\/files\/test$/,
  ])
  t.equal(overBudget(used, record).length, 2)
  const unknown = new Map([...used, ['plugins/new/test', 500.3]])
  t.equal(overBudget(unknown, record).length, 2)
  t.strictSame(withoutBudget(unknown, record), [
    'plugins/new/test used 500.3 s of CPU, and has no budget yet: npm test -- --record plugins/new/test',
  ])
})

test('a part of few seconds may take ten', async (t) => {
  const record = new Map([['plugins/small/test', 1]])
  t.strictSame(overBudget(new Map([['plugins/small/test', 9]]), record), [])
  t.equal(overBudget(new Map([['plugins/small/test', 11]]), record).length, 1)
})

test('on a machine on which most parts take longer, the budgets grow alike', async (t) => {
  const parts = Array.from({ length: 11 }, (_, number) => `plugins/${number}/test`)
  const record = new Map(parts.map((part) => [part, 10]))
  const slow = new Map(parts.map((part) => [part, 19]))
  t.strictSame(overBudget(slow, record), [])
  t.match(overBudget(new Map([...slow, ['plugins/3/test', 39]]), record), [
    /^plugins\/3\/test used 39\.0 s .* is 38 s/,
  ])
  const slower = new Map(parts.map((part) => [part, 41]))
  t.equal(overBudget(slower, record).length, 11, 'the growth has a bound')
  const fast = new Map(parts.map((part) => [part, 5]))
  t.equal(overBudget(new Map([...fast, ['plugins/3/test', 21]]), record).length, 1)
})

test('a part that ran only partly is not judged', async (t) => {
  const used = new Map([
    ['test/run', 100],
    ['test/walls', 100],
  ])
  const files = [...(await findTestFiles(['test/run'])), 'test/walls/walls.test.ts']
  t.strictSame(await ofWholeParts(used, files), new Map([['test/run', 100]]))
})
