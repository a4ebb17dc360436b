/**
 * `npm test`: lint, types, walls, packages, tests. It stops at the first step that fails.
 * `npm test -- kernel/test/auth`: only the tests of these files and folders.
 */
import { overBudget, seconds } from './budget.ts'
import { runTool } from './command.ts'
import { closingLine, type FileResult, skippedLines } from './count-tests.ts'
import { makeRunFolder, tarballsVariable } from './run-folder.ts'
import { runTests } from './run-tests.ts'

const folder = await makeRunFolder()
const steps = [
  { name: 'lint', tool: 'biome', args: ['check', '--error-on-warnings'] },
  { name: 'types', tool: 'tsc', args: ['--noEmit'] },
  { name: 'walls', tool: 'node', args: ['test/walls/check.ts'] },
  { name: 'packages', tool: 'node', args: ['test/release/pack.ts', folder.tarballs] },
]

const paths = process.argv.slice(2)
const start = performance.now()
const failed = paths.length > 0 ? undefined : await failingStep()
const counts = failed ? { passed: 0, failed: 1, skipped: 0 } : await test()
console.log(
  `\nin ${seconds(performance.now() - start)}${failed ? `; ${failed} failed, no tests were run` : ''}`,
)
console.log(closingLine(counts))
process.exitCode = counts.failed > 0 ? 1 : 0

async function failingStep(): Promise<string | undefined> {
  for (const { name, tool, args } of steps) {
    const since = performance.now()
    const { ok, output } = await runTool(tool, args)
    console.log(`${ok ? 'ok  ' : 'FAIL'} ${name} (${seconds(performance.now() - since)})`)
    if (!ok) {
      console.log(output)
      return name
    }
  }
  return undefined
}

async function test() {
  const since = performance.now()
  const packed = paths.length > 0 ? {} : { [tarballsVariable]: folder.tarballs }
  const run = await runTests(paths, { ...folder.env, ...packed }, printFile)
  console.log(`${run.failed ? 'FAIL' : 'ok  '} tests (${seconds(performance.now() - since)})`)
  if (run.failures) console.log(`\n${run.failures}`)
  for (const line of overBudget(run.files)) console.log(`warning: ${line}`)
  for (const line of skippedLines(run.files)) console.log(line)
  return run
}

function printFile({ file, ok, ms, ...counts }: FileResult): void {
  const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : ''
  console.log(`  ${ok ? 'ok  ' : 'FAIL'} ${file}: ${closingLine(counts)}${skipped} (${seconds(ms)})`)
}
