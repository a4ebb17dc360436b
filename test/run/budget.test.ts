import { test } from 'tap'
import { overBudget, partOf, timeAlone } from './budget.ts'

test("a part is a package's test folder, a domain of the kernel, or a folder under test/", async (t) => {
  t.equal(partOf('kernel/test/auth/session.test.ts'), 'kernel/test/auth')
  t.equal(partOf('kernel/test/http/fixtures/more/a.test.ts'), 'kernel/test/http')
  t.equal(partOf('plugins/files/test/http/read.test.ts'), 'plugins/files/test')
  t.equal(partOf('test/loader/broken/import.test.ts'), 'test/loader')
  t.equal(partOf('test/contract.test.ts'), 'test')
})

test('a part takes what its files take three at a time, in their order', async (t) => {
  const timed = (...times: number[]) => times.map((ms, index) => ({ file: `a/test/${index}.test.ts`, ms }))
  t.equal(timeAlone([]), 0)
  t.equal(timeAlone(timed(30)), 30, 'a single file is not halved')
  t.equal(timeAlone(timed(30, 10, 10, 10)), 30)
  t.equal(timeAlone(timed(10, 10, 10, 30)), 40, 'the last one runs alone')
  t.equal(timeAlone(timed(10, 10, 10, 30).reverse()), 40, 'whichever ended first')
})

test('parts over their budget are named, slowest first', async (t) => {
  const files = [
    { file: 'kernel/test/http/a.test.ts', ms: 30_000 },
    { file: 'kernel/test/http/b/c.test.ts', ms: 40_000 },
    { file: 'kernel/test/http/d.test.ts', ms: 35_000 },
    { file: 'kernel/test/http/e.test.ts', ms: 11_000 },
    { file: 'kernel/test/state/a.test.ts', ms: 40_000 },
    { file: 'kernel/test/state/b.test.ts', ms: 39_000 },
    { file: 'kernel/test/state/c.test.ts', ms: 38_000 },
    { file: 'test/loader/a.test.ts', ms: 40_000 },
    { file: 'test/release/a.test.ts', ms: 61_000 },
  ]
  t.strictSame(overBudget(files), [
    'test/release took 61.0 s; its budget is 40.0 s',
    'kernel/test/http took 41.0 s; its budget is 40.0 s',
  ])
})
