/**
 * Runs test files in this process, one after the other. The variable that `test-group.ts` names has the paths of the files from
 * the root. Each file is a test of tap, and the file imports that test as tap: its tests, its teardowns and its number of jobs end
 * with it.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import tap from 'tap'
import { root } from './command.ts'
import { cpuComment } from './count-tests.ts'
import { coverageVariable } from './coverage.ts'
import * as fileTest from './file-test.ts'
import { placeFolders } from './test-folders.ts'
import { filesVariable } from './test-group.ts'

const files: string[] = JSON.parse(process.env[filesVariable] ?? '[]')
// The processes that tests start must not see it.
delete process.env[filesVariable]
measureCoverage(process.env[coverageVariable])
const standIn = import.meta.resolve('./file-test.ts')
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'tap' ? { url: standIn, shortCircuit: true } : next(specifier, context),
})
// tap listens for signals from now on.
tap.pipe(process.stdout)
// Keeps the process alive while a test waits for something that does not, such as an unreferenced timer.
const alive = setInterval(() => {}, 60_000)
let used = cpuSeconds()
for (const file of files) {
  const before = processState()
  let removeFolders = () => {}
  await tap.test(file, async (t) => {
    removeFolders = placeFolders(t, file)
    fileTest.begin(t)
    await import(pathToFileURL(join(root, file)).href)
  })
  removeFolders()
  const after = processState()
  const names = new Set([...before.keys(), ...after.keys()])
  const changed = [...names].filter((name) => before.get(name) !== after.get(name))
  if (changed.length > 0) tap.fail(file, { notRestored: changed })
  const usedBefore = used
  used = cpuSeconds()
  tap.comment(cpuComment(file, used - usedBefore))
}
clearInterval(alive)

/** Returns the state that a file must restore for the next one, by names for people. */
function processState(): ReadonlyMap<string, unknown> {
  // tap itself adds and removes listeners of unhandled rejections.
  const events = process.eventNames().filter((name) => /^SIG|^uncaught|^warning$/.test(String(name)))
  const globals = ['Date', 'fetch', 'setImmediate', 'setInterval', 'setTimeout'] as const
  const state: [string, unknown][] = [
    ...Object.entries(process.env).map(
      ([name, value]) => [`the variable ${name}`, value] as [string, unknown],
    ),
    ...events.map(
      (name) => [`the listeners of ${String(name)}`, process.listenerCount(name)] as [string, unknown],
    ),
    ...globals.map((name) => [name, globalThis[name]] as [string, unknown]),
    ['the working directory', process.cwd()],
  ]
  return new Map(state)
}

/** Returns the CPU seconds, user and system, of this process and of those that it has waited for. Only Linux tells the latter. */
function cpuSeconds(): number {
  const { user, system } = process.cpuUsage()
  const own = (user + system) / 1e6
  try {
    // The fields 16 and 17 of proc(5), in ticks, of which a second has 100. The second field ends with ")".
    const fields = readFileSync('/proc/self/stat', 'latin1').split(') ').at(-1)?.split(' ') ?? []
    return own + (Number(fields[13]) + Number(fields[14])) / 100
  } catch {
    return own
  }
}

/**
 * Measures the functions that run, for which V8 needs a tenth of the CPU time that Node's own coverage of branches takes. Threads and
 * processes that the tests start are measured by Node.
 *
 * @param folder the folder into which the coverage is written when the process ends; `undefined` measures none
 */
function measureCoverage(folder: string | undefined): void {
  if (folder === undefined) return
  delete process.env[coverageVariable]
  process.env.NODE_V8_COVERAGE = folder
  mkdirSync(folder, { recursive: true })
  const session = new Session()
  session.connect()
  session.post('Profiler.enable')
  session.post('Profiler.startPreciseCoverage', { callCount: false, detailed: false })
  process.once('exit', () =>
    session.post('Profiler.takePreciseCoverage', (_error, { result }) =>
      writeFileSync(join(folder, `group-${process.pid}.json`), JSON.stringify({ result })),
    ),
  )
}
