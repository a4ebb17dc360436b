import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'tap'
import { root } from './command.ts'
import { belowFloor, Coverage } from './coverage.ts'

const file = join(root, 'examples/hello-plugin/src/index.ts')

/** Imports a file in a process that another one starts, and returns the coverage of both processes. */
async function coverageOf(folder: string, file: string): Promise<Coverage> {
  const NODE_V8_COVERAGE = join(folder, 'written')
  const start = `require('node:child_process').execFileSync(process.execPath, ['--conditions=nodekeep-source', '${file}'], { env: {} })`
  execFileSync(process.execPath, ['--eval', start], { env: { NODE_V8_COVERAGE } })
  const coverage = new Coverage()
  await coverage.add(NODE_V8_COVERAGE)
  return coverage
}

test('the lines count that run in a process of a process, in TypeScript, without those of functions that did not', async (t) => {
  const coverage = await coverageOf(t.testdir(), file)
  const percent = coverage.percentages().get('examples/hello-plugin') ?? 0
  t.ok(percent > 0 && percent < 100, `${percent}`)
})

test('the lines that ran in either half count', async (t) => {
  const folder = t.testdir()
  const saved = join(folder, 'saved.json')
  const first = await coverageOf(folder, file)
  await first.save(saved)
  const second = await coverageOf(folder, join(root, 'plugins/web/src/index.ts'))
  const ofSecond = second.percentages()
  await second.addSaved(saved)
  const both = second.percentages()
  t.equal(both.get('examples/hello-plugin'), first.percentages().get('examples/hello-plugin'))
  t.equal(both.get('plugins/web'), ofSecond.get('plugins/web'))
  t.ok((both.get('plugin-sdk') ?? 0) >= (ofSecond.get('plugin-sdk') ?? 0))
  await second.addSaved(join(folder, 'missing.json'))
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
