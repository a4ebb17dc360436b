import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'tap'
import { runTestFile } from './test-process.ts'

const tap = import.meta.resolve('tap')

test('a test file ends with what it found', async (t) => {
  const folder = t.testdir()
  const passing = join(folder, 'passing.mjs')
  await writeFile(passing, `import t from '${tap}'\nt.test('one', async (t) => t.ok(true))\n`)
  const { result } = await runTestFile(passing, {})
  t.match(result, { ok: true, passed: 1, failed: 0, skipped: 0 })

  const failing = join(folder, 'failing.mjs')
  await writeFile(failing, `import t from '${tap}'\nt.test('two', async (t) => t.ok(false))\n`)
  const failed = await runTestFile(failing, {})
  t.match(failed, { result: { ok: false, passed: 0, failed: 1 }, tap: /not ok/ })
})

test('an error that escapes from a test fails its file, and is shown', async (t) => {
  for (const lost of ['setImmediate(() => { throw error })', 'void Promise.reject(error)']) {
    const file = join(t.testdir(), 'escaping.mjs')
    const lines = [
      `import t from '${tap}'`,
      `const error = new Error('nobody awaits this')`,
      `t.test('waits', async () => { ${lost}; await new Promise((resolve) => setTimeout(resolve, 60_000)) })`,
    ]
    await writeFile(file, lines.join('\n'))
    const { result, complaint } = await runTestFile(file, {})
    t.equal(result.ok, false, lost)
    t.ok(result.failed > 0, lost)
    t.match(complaint, /nobody awaits this/, lost)
  }
})
