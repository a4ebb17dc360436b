/**
 * `npm test`: lint, types, walls, and the tests of the packages and of one whole node of each kind.
 * `npm run test:whole`: all other tests.
 * `npm run test:all`: both, with the coverage of the packages (`coverage.ts`). `.ci/run` runs this.
 * With files or folders: only their tests, of both halves.
 * `--changed [BASE]`: only the tests of this half that a change reaches (`reached.ts`).
 * `--record`: records the CPU time of the parts that ran wholly (`budget.ts`), and the coverage.
 *
 * The tests use tap as their library. They do not run through the command `tap run`, for three reasons:
 *
 * - `tap run` starts a process for each of more than 500 files, and each spends a third of a second of CPU on loading the
 *   same libraries: three minutes in all. Here files share processes.
 * - `tap run` makes every child process of a test, such as a node or a command, record the files that it loads. Those
 *   processes then take half as long again.
 * - The last line must be `N passed, N failed`, with skipped tests counted apart and named above it. No reporter of tap
 *   prints that. The examples are tested with node:test, as an author outside would, and count too.
 *
 * Each test runs once: a failure is a failure. It is printed by `tap replay`.
 *
 * The way of a test file, by the files beside this one:
 *
 * 1. `test-files.ts` finds it, and `reached.ts` tells whether a change reaches it.
 * 2. `test-group.ts` puts it into a group, and `run-tests.ts` runs five groups at a time, beside lint, types and walls.
 * 3. `test-process.ts` starts the process of the group, which runs `group-program.ts`, or `alone-program.ts` for a file that is alone.
 * 4. `count-tests.ts` counts its tests. `budget.ts` judges the CPU time of its part, and `coverage.ts` the lines that ran.
 */
import { Command, Option } from 'commander'
import { ofWholeParts, overBudget, readRecord, recordBudgets, slownessOf, withoutBudget } from './budget.ts'
import { runTool } from './command.ts'
import { closingLine, type FileResult, skippedLines } from './count-tests.ts'
import { belowFloor, Coverage, readCoverage, recordCoverage } from './coverage.ts'
import { reachedByChange, reasons } from './reached.ts'
import { installationVariable, makeRunFolder, memoryFolder, tarballsVariable } from './run-folder.ts'
import { runTests, type TestRun } from './run-tests.ts'
import { findTestFiles, findTests, type Half } from './test-files.ts'
import { useMemory } from './test-folders.ts'

const half: Half = process.argv.includes('--all')
  ? 'all'
  : process.argv.includes('--whole')
    ? 'whole'
    : 'packages'
const programs = {
  packages: [
    'npm test --',
    'Run lint, types, walls, and the tests of the packages and of one whole node of each kind.',
  ],
  whole: [
    'npm run test:whole --',
    'Run the tests of browsers, packed releases, updates, installations and gateways.',
  ],
  all: ['npm run test:all --', 'Run lint, types, walls and all tests, and measure the coverage.'],
} as const
const [name, description] = programs[half]
const program = new Command(name)
  .description(description)
  .argument('[path...]', 'run only the tests of these files or folders, of both halves')
  .option('--changed [base]', 'run only the tests that a change reaches, of all since a commit (HEAD)')
  .option('--record', 'record the CPU time, and the coverage, of the parts that ran wholly')
  .addOption(new Option('--whole').hideHelp())
  .addOption(new Option('--all').hideHelp())
  .parse()
const paths = program.args
const options = program.opts<{ changed?: string | true; record?: true }>()
if (options.changed !== undefined && paths.length > 0)
  program.error('The tests are chosen by paths or by a change, not by both.')
const isOfPaths = paths.length > 0
const takesChecks = !isOfPaths && half !== 'whole' && !options.record
const coverage = half === 'all' && !isOfPaths && options.changed === undefined ? new Coverage() : undefined

interface Step {
  readonly name: string
  readonly tool: string
  readonly args: readonly string[]
}

/** The compiler remembers what it found, so the next run checks only what a change reaches. */
function typesOf(name: string, project: string): Step {
  const remembered = `node_modules/.cache/typescript/${project}.tsbuildinfo`
  const args = ['--noEmit', '--project', project, '--incremental', '--tsBuildInfoFile', remembered]
  return { name, tool: 'tsc', args }
}

const checks: readonly Step[] = [
  { name: 'lint', tool: 'biome', args: ['check', '--error-on-warnings'] },
  typesOf('types', 'tsconfig.json'),
  typesOf('types of browser code', 'tsconfig.browser.json'),
  { name: 'walls', tool: 'node', args: ['test/walls/check.ts'] },
]

const start = performance.now()
const memory = await memoryFolder()
const folder = await makeRunFolder(memory)
/** The steps and budgets that failed, with what to know about each. */
const failed: string[] = []
const files = await select().catch(({ message }: Error) => {
  failed.push(message)
  return []
})
const counts = failed.length > 0 ? { passed: 0, failed: 0, skipped: 0 } : await run()
const total = { ...counts, failed: counts.failed + failed.length }
for (const text of failed) console.log(`FAIL ${text}`)
console.log(`\nin ${seconds(performance.now() - start)}`)
console.log(closingLine(total))
process.exitCode = total.failed > 0 ? 1 : 0

/** @throws Error if git does not know the base of a change */
async function select(): Promise<readonly string[]> {
  if (options.changed !== undefined) {
    const base = options.changed === true ? 'HEAD' : options.changed
    const all = await findTests(half)
    const reached = await reachedByChange(base, all)
    console.log(`${reached.size} of ${all.length} test files are reached by what changed since ${base}`)
    for (const reason of reasons(reached)) console.log(reason)
    return [...reached.keys()].sort()
  }
  const files = isOfPaths ? await findTestFiles(paths) : await findTests(half)
  if (files.length === 0) failed.push('no tests were found')
  return files
}

async function run(): Promise<TestRun> {
  const run = await runSelected(takesChecks ? checks : [])
  if (run.failures) console.log(`\n${run.failures}`)
  for (const line of skippedLines(run.files)) console.log(line)
  const used = await ofWholeParts(run.cpuSeconds, files)
  const isRecorded = options.record && run.failed === 0 && failed.length === 0
  if (options.record && !isRecorded) failed.push('nothing was recorded')
  if (isRecorded) {
    await recordBudgets(used)
  } else {
    const record = await readRecord()
    for (const line of withoutBudget(used, record)) console.log(line)
    const slowness = slownessOf(used, record)
    if (slowness > 1)
      console.log(
        `Most parts used ${slowness.toFixed(1)} times the recorded CPU time, so the budgets grew alike.`,
      )
    failed.push(...overBudget(used, record))
  }
  if (coverage === undefined) return run
  const covered = coverage.percentages()
  for (const [name, percent] of covered)
    console.log(`${percent.toFixed(1).padStart(5)} % of the lines of ${name} ran`)
  // `needsPrograms` names the programs that a skipped test would have run.
  const lacksPrograms = run.files.some(({ skippedTests }) =>
    skippedTests.some((test) => test.includes('This test needs the program')),
  )
  if (isRecorded) await recordCoverage(covered)
  else if (lacksPrograms)
    console.log('The coverage is not judged, since tests were skipped for missing programs.')
  else failed.push(...belowFloor(covered, await readCoverage()))
  return run
}

/** Runs the selected tests beside these steps. */
async function runSelected(steps: readonly Step[]): Promise<TestRun> {
  const usesInstallation = files.some((file) => file.startsWith('test/outside/'))
  const needsPackages = (file: string) => /^test\/(outside|release|update)\//.test(file)
  const usesPackages = files.some(needsPackages)
  const preparation: Step[] = [
    ...(usesPackages
      ? [{ name: 'packages', tool: 'node', args: ['test/release/pack.ts', folder.tarballs] }]
      : []),
    ...(usesInstallation
      ? [
          {
            name: 'installation',
            tool: 'node',
            args: ['test/outside/install.ts', folder.tarballs, folder.installation],
          },
        ]
      : []),
  ]
  const prepared = Promise.withResolvers<boolean>()
  const prepare = async () => {
    for (const step of preparation) if (!(await take(step))) return prepared.resolve(false)
    prepared.resolve(true)
  }
  const inMemory = memory === undefined ? {} : await useMemory(memory)
  // Installations and releases are too large for memory. Long random tests use the nodes of benches, which need a disk.
  const usesMemory = (file: string) => !needsPackages(file) && !/^test\/(deploy|faults)\//.test(file)
  const since = performance.now()
  const run = await runTests(files, {
    envOf: (file) => ({
      ...folder.env,
      ...(usesPackages && { [tarballsVariable]: folder.tarballs }),
      ...(usesInstallation && { [installationVariable]: folder.installation }),
      ...(usesMemory(file) && inMemory),
    }),
    before: [prepare, ...steps.map((step) => () => take(step))],
    isReady: async (file) => !needsPackages(file) || prepared.promise,
    onFile: printFile,
    // Packages that are packed and installed elsewhere are not those of the sources.
    ...(coverage && {
      coverage: { of: coverage, folder: folder.coverage, isMeasured: (file) => !needsPackages(file) },
    }),
  })
  console.log(`${run.failed > 0 ? 'FAIL' : 'ok  '} tests (${seconds(performance.now() - since)})`)
  return run
}

/** Takes a step. Returns whether it succeeded. */
async function take({ name, tool, args }: Step): Promise<boolean> {
  const since = performance.now()
  const { ok, output } = await runTool(tool, args)
  console.log(`${ok ? 'ok  ' : 'FAIL'} ${name} (${seconds(performance.now() - since)})`)
  if (!ok) failed.push(`${name}:\n${output}`)
  return ok
}

function printFile({ file, ok, ms, ...counts }: FileResult): void {
  const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : ''
  console.log(`  ${ok ? 'ok  ' : 'FAIL'} ${file}: ${closingLine(counts)}${skipped} (${seconds(ms)})`)
}

/** Milliseconds for people: `1.2 s`. */
function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}
