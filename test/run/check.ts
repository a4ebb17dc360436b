/**
 * `npm test`: lint, types, walls, packages and their installation, then the tests. No further step begins when one has
 * failed.
 * `npm test -- kernel/test/auth`: only the tests of these files and folders.
 */
import { overBudget, seconds } from './budget.ts'
import { runTool } from './command.ts'
import { closingLine, type FileResult, skippedLines } from './count-tests.ts'
import { installationVariable, makeRunFolder, tarballsVariable } from './run-folder.ts'
import { runTests } from './run-tests.ts'
import { findTestFiles } from './test-files.ts'

const folder = await makeRunFolder()
const checks = [
  { name: 'lint', tool: 'biome', args: ['check', '--error-on-warnings'] },
  { name: 'types', tool: 'tsc', args: ['--noEmit'] },
  { name: 'walls', tool: 'node', args: ['test/walls/check.ts'] },
]
const release = [
  { name: 'packages', tool: 'node', args: ['test/release/pack.ts', folder.tarballs] },
  {
    name: 'installation',
    tool: 'node',
    args: ['test/outside/install.ts', folder.tarballs, folder.installation],
  },
]

const paths = process.argv.slice(2)
const start = performance.now()
const usesRelease = (await findTestFiles(paths)).some((file) => file.startsWith('test/outside/'))
const failed = await failingSteps(paths.length > 0 ? [] : checks, usesRelease ? release : [])
const counts = failed.length > 0 ? { passed: 0, failed: failed.length, skipped: 0 } : await test()
console.log(
  `\nin ${seconds(performance.now() - start)}${failed.length > 0 ? `; ${failed.join(' and ')} failed, no tests were run` : ''}`,
)
console.log(closingLine(counts))
process.exitCode = counts.failed > 0 ? 1 : 0

/** Takes the steps of each sequence one after the other, and the sequences side by side. */
async function failingSteps(...sequences: (typeof checks)[]): Promise<string[]> {
  const failing: string[] = []
  const take = async (steps: typeof checks) => {
    for (const { name, tool, args } of steps) {
      if (failing.length > 0) return
      const since = performance.now()
      const { ok, output } = await runTool(tool, args)
      console.log(`${ok ? 'ok  ' : 'FAIL'} ${name} (${seconds(performance.now() - since)})`)
      if (ok) continue
      console.log(output)
      failing.push(name)
    }
  }
  await Promise.all(sequences.map(take))
  return failing
}

async function test() {
  const since = performance.now()
  const shared = { [tarballsVariable]: folder.tarballs, [installationVariable]: folder.installation }
  const run = await runTests(paths, { ...folder.env, ...(usesRelease && shared) }, printFile)
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
