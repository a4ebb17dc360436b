/**
 * A thread of the SDK, in which programs run. Before it becomes one, it is given what the SDK looks for in it: a way to
 * the mounted folders, which are in the main thread.
 */
import { BroadcastChannel, getEnvironmentData } from 'node:worker_threads'
import { awaitAnswer, type Call, callChannel, emptyAnswer, usualAnswerBytes } from './calls/shared-answer.ts'
import { guardedImports } from './guarded-imports.ts'
import { webAssembly } from './web-assembly.ts'

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

/** Waits for no answer: when the SDK is made warm, nobody gives one. */
function tellOfBeginning(): void {
  const answer = new SharedArrayBuffer(usualAnswerBytes)
  channel.postMessage({ mount: -1, method: 'beginning', args: [], answer } satisfies Call)
}

/**
 * Guards what programs import, and tells the main thread what the SDK would not: with which code they exit, and why a
 * module cannot be instantiated.
 */
function watchInstances(): void {
  webAssembly.Instance = new Proxy(webAssembly.Instance, {
    construct(instance, [module, imports = {}], target) {
      tellOfBeginning()
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
