import { glob } from 'node:fs/promises'
import { test } from 'tap'
import { root } from './command.ts'
import { findTests } from './test-files.ts'

test('each test file of the repository runs in one of the halves', async (t) => {
  const packages = await findTests('packages')
  const whole = await findTests('whole')
  const all = await findTests('all')
  t.strictSame(all, [...packages, ...whole].toSorted())
  const exclude = ['**/node_modules/**', '**/fixtures/**', '**/dist/**']
  const files = await Array.fromAsync(glob('*/**/*.test.ts', { cwd: root, exclude }))
  t.strictSame(all, files.toSorted())
})
