import { test } from 'tap'
import { overBudget, partOf, timeAlone } from './budget.ts'

/** A file with a process of its own. */
const alone = (file: string, ms: number) => ({ file, process: file, ms })

test("a part is a package's test folder, a domain of the kernel, or a folder under test/", async (t) => {
  t.equal(partOf('kernel/test/auth/session.test.ts'), 'kernel/test/auth')
  t.equal(partOf('kernel/test/http/fixtures/more/a.test.ts'), 'kernel/test/http')
  t.equal(partOf('plugins/files/test/http/read.test.ts'), 'plugins/files/test')
  t.equal(partOf('test/loader/broken/import.test.ts'), 'test/loader')
  t.equal(partOf('test/contract.test.ts'), 'test')
})

test('a part takes what its files take three at a time, in their order', async (t) => {
  const timed = (...times: number[]) => times.map((ms, index) => alone(`a/test/${index}.test.ts`, ms))
  t.equal(timeAlone([]), 0)
  t.equal(timeAlone(timed(30)), 30, 'a single file is not halved')
  t.equal(timeAlone(timed(30, 10, 10, 10)), 30)
  t.equal(timeAlone(timed(10, 10, 10, 30)), 40, 'the last one runs alone')
  t.equal(timeAlone(timed(10, 10, 10, 30).reverse()), 40, 'whichever ended first')
  const together = timed(10, 10, 10).map((file) => ({ ...file, process: 'a/test/0.test.ts' }))
  t.equal(timeAlone(together), 30, 'those that share a process wait for each other')
})

test('parts over their budget are named, slowest first', async (t) => {
  const files = [
    alone('kernel/test/http/a.test.ts', 30_000),
    alone('kernel/test/http/b/c.test.ts', 40_000),
    alone('kernel/test/http/d.test.ts', 35_000),
    alone('kernel/test/http/e.test.ts', 11_000),
    alone('kernel/test/state/a.test.ts', 40_000),
    alone('kernel/test/state/b.test.ts', 39_000),
    alone('kernel/test/state/c.test.ts', 38_000),
    alone('test/loader/a.test.ts', 40_000),
    alone('test/release/a.test.ts', 61_000),
  ]
  t.strictSame(overBudget(files), [
    'test/release took 61.0 s; the budget is 40.0 s',
    'kernel/test/http took 41.0 s; the budget is 40.0 s',
  ])
})

test('all tests together have a budget of ten minutes', async (t) => {
  // Each part keeps its own budget.
  const parts = (count: number) =>
    Array.from({ length: count }, (_, index) => alone(`plugins/${index}/test/a.test.ts`, 40_000))
  t.strictSame(overBudget(parts(45)), [])
  t.strictSame(overBudget(parts(46)), ['all tests took 640.0 s; the budget is 600.0 s'])
})
