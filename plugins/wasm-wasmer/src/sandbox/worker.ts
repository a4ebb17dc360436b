/**
 * A thread of the SDK, in which programs run. Before the SDK takes it over, it gets what the SDK looks for: access to the
 * mounted folders, which are in the main thread.
 */
import { BroadcastChannel, getEnvironmentData } from 'node:worker_threads'
import { awaitAnswer, type Call, callChannel, emptyAnswer, usualAnswerBytes } from './calls/shared-answer.ts'
import { systems } from './module/program-check.ts'
import { type Imports, webAssembly } from './web-assembly.ts'

/** WASI's errno for an unsupported operation. */
const notSupported = 58
/** The SDK would keep links in folders for itself: the program would see them, and they would never be stored. */
const unsupported = ['path_link', 'path_symlink']

const channel = new BroadcastChannel(callChannel)
channel.unref()
let buffer = new SharedArrayBuffer(usualAnswerBytes)

Object.assign(globalThis, { __wasmerHostFileSystem: call })
watchInstances()
await import(new URL('./node-worker.js', String(getEnvironmentData('sdk'))).href)

function call(mount: number, method: string, args: readonly unknown[]): unknown {
  channel.postMessage({ mount, method, args, answer: emptyAnswer(buffer) } satisfies Call)
  const outcome = awaitAnswer(buffer)
  if (typeof outcome === 'number') {
    buffer = new SharedArrayBuffer(8 + outcome)
    return call(mount, method, args)
  }
  if ('error' in outcome) throw Object.assign(new Error(outcome.error), { code: outcome.error })
  return outcome.value
}

/** Does not wait for an answer: during the warm-up there is none. */
function reportBeginning(): void {
  const answer = new SharedArrayBuffer(usualAnswerBytes)
  channel.postMessage({ mount: -1, method: 'beginning', args: [], answer } satisfies Call)
}

/**
 * Guards the imports of programs, and reports to the main thread what the SDK does not: their exit code, and why a module
 * cannot be instantiated.
 */
function watchInstances(): void {
  webAssembly.Instance = new Proxy(webAssembly.Instance, {
    construct(instance, [module, imports = {}], target) {
      reportBeginning()
      try {
        const own = guardedImports(imports, (code) => call(-1, 'exiting', [code]))
        return Reflect.construct(instance, [module, own], target) as object
      } catch (error) {
        const { name, message } = error as Error
        call(-1, 'instance-failed', [name, message])
        throw error
      }
    },
  })
}

/**
 * The imports that the SDK gives a program, without unsupported operations.
 *
 * @param exiting gets the code that the program exits with
 */
function guardedImports(imports: Imports, exiting: (code: number) => void): Imports {
  return Object.fromEntries(
    Object.entries(imports).map(([module, functions]) => [
      module,
      systems.includes(module) ? guardedSystem(functions, exiting) : functions,
    ]),
  )
}

function guardedSystem(functions: Imports[string], exiting: (code: number) => void): Imports[string] {
  const guarded = { ...functions }
  for (const name of unsupported) if (name in functions) guarded[name] = () => notSupported
  const { proc_exit: exit } = functions
  if (typeof exit !== 'function') return guarded
  guarded.proc_exit = (code: number) => {
    exiting(code >>> 0)
    exit(code)
  }
  return guarded
}
