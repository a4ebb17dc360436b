/**
 * `npm test`: lint, types, walls, packages and their installation, then the tests. No step begins after one has failed.
 * `npm test -- kernel/test/http`: only the tests of these files and folders.
 *
 * The tests use tap as their library. They do not run through the command `tap run`, for three reasons:
 *
 * - `tap run` starts a process for each of more than 500 files, and each spends a third of a second of CPU on loading the
 *   same libraries: three minutes in all. Here the files of a folder share a process.
 * - `tap run` makes every child process of a test, such as a node or a command, record the files that it loads. Those
 *   processes then take half as long again.
 * - The last line must be `N passed, N failed`, with skipped tests counted apart and named above it. No reporter of tap
 *   prints that. The examples are tested with node:test, as an author outside would, and count too.
 *
 * If a file of a group fails, its group runs again file by file. A failure is printed by `tap replay`.
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
  { name: 'types of browser code', tool: 'tsc', args: ['--noEmit', '--project', 'tsconfig.browser.json'] },
  { name: 'walls', tool: 'node', args: ['test/walls/check.ts'] },
]
const packages = { name: 'packages', tool: 'node', args: ['test/release/pack.ts', folder.tarballs] }
const installation = {
  name: 'installation',
  tool: 'node',
  args: ['test/outside/install.ts', folder.tarballs, folder.installation],
}

const paths = process.argv.slice(2)
const start = performance.now()
const files = await findTestFiles(paths)
const usesInstallation = files.some((file) => file.startsWith('test/outside/'))
const usesPackages = usesInstallation || files.some((file) => /^test\/(release|update)\//.test(file))
const failed = await failingSteps(paths.length > 0 ? [] : checks, [
  ...(usesPackages ? [packages] : []),
  ...(usesInstallation ? [installation] : []),
])
const counts = failed.length > 0 ? { passed: 0, failed: failed.length, skipped: 0 } : await test()
console.log(
  `\nin ${seconds(performance.now() - start)}${failed.length > 0 ? `; ${failed.join(' and ')} failed, no tests were run` : ''}`,
)
console.log(closingLine(counts))
process.exitCode = counts.failed > 0 ? 1 : 0

/** Runs the steps of a sequence in order, and the sequences at the same time. Returns the names of the steps that failed. */
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
  const shared = {
    ...(usesPackages && { [tarballsVariable]: folder.tarballs }),
    ...(usesInstallation && { [installationVariable]: folder.installation }),
  }
  const run = await runTests(paths, { ...folder.env, ...shared }, printFile)
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
