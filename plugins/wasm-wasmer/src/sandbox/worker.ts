/**
 * A thread of the SDK, in which programs run. Before the SDK takes it over, it gets what the SDK looks for: access to the
 * mounted folders, which are in the main thread.
 */
import { BroadcastChannel, getEnvironmentData } from 'node:worker_threads'
import { awaitAnswer, type Call, callChannel, emptyAnswer, usualAnswerBytes } from './calls/shared-answer.ts'
import { systems } from './module/program-check.ts'
import { SystemCalls } from './system-calls.ts'
import { type Imports, webAssembly } from './web-assembly.ts'
import './without-fetch.ts'

/** Errors of WASI, by the codes of the main thread. */
const errnos: Readonly<Record<string, number>> = {
  EACCES: 2,
  EEXIST: 20,
  EIO: 29,
  EISDIR: 31,
  ENOENT: 44,
  ENOTDIR: 54,
  ENOTEMPTY: 55,
  ENOTSUP: 58,
}

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
        let memory = Object.values(imports as Imports)
          .flatMap((each) => Object.values(each))
          .find((each) => each instanceof webAssembly.Memory)
        const calls = new SystemCalls(askMain, () => memory)
        const own = Object.fromEntries(
          Object.entries(imports as Imports).map(([name, each]) => [
            name,
            systems.includes(name) ? calls.guarded(name, each) : each,
          ]),
        )
        const made = Reflect.construct(instance, [module, own], target)
        if (made.exports.memory instanceof webAssembly.Memory) memory ??= made.exports.memory
        return made
      } catch (error) {
        const { name, message } = error as Error
        call(-1, 'instance-failed', [name, message])
        throw error
      }
    },
  })
}

function askMain(method: string, ...args: readonly unknown[]): unknown {
  try {
    return call(-1, method, args) ?? 0
  } catch (error) {
    return errnos[(error as { readonly code: string }).code] ?? errnos.EIO
  }
}
