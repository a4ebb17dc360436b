import { execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { test } from 'tap'
import { root } from './command.ts'
import { belowFloor, Coverage, coverageVariable } from './coverage.ts'
import { runGroup } from './test-process.ts'

const file = join(root, 'examples/hello-plugin/src/index.ts')

/** Imports a file in a process that another one starts, and adds the coverage of both processes. */
async function addCoverage(coverage: Coverage, folder: string, file: string): Promise<void> {
  const NODE_V8_COVERAGE = join(folder, 'written')
  const start = `require('node:child_process').execFileSync(process.execPath, ['--conditions=nodekeep-source', '${file}'], { env: {} })`
  execFileSync(process.execPath, ['--eval', start], { env: { NODE_V8_COVERAGE } })
  await coverage.add(NODE_V8_COVERAGE)
}

test('the lines count that run in any process of a process, in TypeScript, without those of functions that did not', async (t) => {
  const folder = t.testdir()
  const coverage = new Coverage()
  const of = (name: string) => coverage.percentages().get(name) ?? 0
  await addCoverage(coverage, folder, file)
  const percent = of('examples/hello-plugin')
  t.ok(percent > 0 && percent < 100, `${percent}`)
  const ofSdk = of('plugin-sdk')
  await addCoverage(coverage, folder, join(root, 'plugins/web/src/index.ts'))
  t.equal(of('examples/hello-plugin'), percent)
  t.ok(of('plugins/web') > 0)
  t.ok(of('plugin-sdk') >= ofSdk)
})

test('the lines count that run in files that share a process, and in processes that they start', async (t) => {
  const written = join(t.testdir(), 'written')
  const folder = relative(root, t.testdirName)
  const files: [string, string] = [join(folder, 'one.mjs'), join(folder, 'two.mjs')]
  const start = `import t from 'tap'\nimport { execFileSync } from 'node:child_process'\n`
  const sdk = join(root, 'plugin-sdk/src/errors.ts')
  await writeFile(join(root, files[0]), `${start}await import('${file}')\nt.pass()\n`)
  await writeFile(
    join(root, files[1]),
    `${start}execFileSync(process.execPath, ['${join(root, 'kernel/src/log/levels.ts')}'])\nawait import('${sdk}')\nt.pass()\n`,
  )
  await runGroup(files, { [coverageVariable]: written })
  const coverage = new Coverage()
  await coverage.add(written)
  const percentages = coverage.percentages()
  for (const name of ['examples/hello-plugin', 'plugin-sdk', 'kernel'])
    t.ok((percentages.get(name) ?? 0) > 0, name)
})

test('a package more than one point below its recorded coverage fails', async (t) => {
  const record = new Map([
    ['kernel', 80],
    ['plugins/files', 70],
    ['plugins/web', 60],
  ])
  const covered = new Map([
    ['kernel', 79],
    ['plugins/files', 68.9],
    ['plugins/new', 1],
  ])
  t.match(belowFloor(covered, record), [
    /^the tests run 68\.9 % of the lines of plugins\/files; the floor is 69\.0 %\..* \.ci\/run --record$/,
    /^the tests run 0\.0 % of the lines of plugins\/web/,
  ])
  t.equal(belowFloor(covered, record).length, 2)
})
