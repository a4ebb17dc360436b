import { test } from 'tap'
import { overBudget, partOf } from './budget.ts'

test("a part is a package's test folder, a domain of the kernel, or a folder under test/", async (t) => {
  t.equal(partOf('kernel/test/auth/session.test.ts'), 'kernel/test/auth')
  t.equal(partOf('kernel/test/http/fixtures/more/a.test.ts'), 'kernel/test/http')
  t.equal(partOf('plugins/files/test/http/read.test.ts'), 'plugins/files/test')
  t.equal(partOf('test/loader/broken/import.test.ts'), 'test/loader')
  t.equal(partOf('test/contract.test.ts'), 'test')
})

test('parts over their budget are named, slowest first', async (t) => {
  const files = [
    { file: 'kernel/test/http/a.test.ts', ms: 30_000 },
    { file: 'kernel/test/http/b/c.test.ts', ms: 10_001 },
    { file: 'kernel/test/state/a.test.ts', ms: 39_000 },
    { file: 'test/loader/a.test.ts', ms: 40_000 },
    { file: 'test/release/a.test.ts', ms: 61_000 },
  ]
  t.strictSame(overBudget(files), [
    'test/release took 61.0 s; its budget is 40.0 s',
    'kernel/test/http took 40.0 s; its budget is 40.0 s',
  ])
})
