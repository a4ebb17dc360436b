import { AsyncLocalStorage } from 'node:async_hooks'
import { pathToFileURL } from 'node:url'
import { isNodekeepError } from '@nodekeep/plugin-sdk'
import { stackOf } from '../errors/error-text.ts'
import { watchProcessMethods } from './process-methods.ts'

/**
 * A promise that rejected without a handler, an exception that nobody caught, a call that ends the process, or a change of
 * something that all code of the process shares.
 */
export type FaultKind = 'rejection' | 'exception' | 'exit' | 'change'

/** The plugin, request or connection that a fault is blamed on. */
export interface FaultOwner {
  /** The id of the plugin. */
  readonly id: string
  /** The work in progress, as fields of a log line, such as the method and path of a request. */
  readonly work?: Readonly<Record<string, unknown>>
  /** Takes a fault. After one of the kind `exit`, the process ends when the call returns. */
  faulted(thrown: unknown, kind: FaultKind): void
}

/** Runs work in the fault context of one owner: faults that the work leaves behind are blamed on that owner. */
export type FaultContext = <T>(work: () => T) => T

/** Returns the owner of the code that made an error, by its stack. If that is the owner of the context, it returns that one. */
type OwnerFinder = (thrown: unknown, context: FaultOwner | undefined) => FaultOwner | undefined

const current = new AsyncLocalStorage<FaultOwner>()

/** Runs work in the fault context of an owner, together with everything asynchronous that the work starts. */
export function runInContextOf<T>(owner: FaultOwner, work: () => T): T {
  return current.getStore() === owner ? work() : current.run(owner, work)
}

/** Returns the context that the caller runs in, to enter it again later. */
export function currentContext(): FaultContext {
  return AsyncLocalStorage.snapshot()
}

/** The innermost frame of a stack that is in a file of a folder. */
interface Frame {
  /** Its line in the text of the stack. */
  readonly depth: number
  /** The file below the folder, and the line in it, such as `src/index.js:3`. */
  readonly place: string
}

/**
 * Returns where code of a folder, such as a plugin's package, was running when an error was made.
 *
 * @param folder its absolute path; an empty text for none
 * @param stack the text of the stack, or any text of Node that names files with lines
 * @returns `null` if the stack names no file of the folder
 */
export function frameIn(folder: string, stack: string): Frame | null {
  if (folder === '') return null
  const starts = [pathToFileURL(folder).href, folder].map(RegExp.escape).join('|')
  const frame = new RegExp(`(?:${starts})[/\\\\]([^\\s():]+:\\d+)`)
  for (const [depth, line] of stack.split('\n').entries()) {
    const place = frame.exec(line)?.[1]
    if (place !== undefined) return { depth, place }
  }
  return null
}

/** Returns where a plugin's code was running when something was thrown, as the end of a sentence: ` (src/index.js:3)`. */
export function placeIn(folder: string, thrown: unknown): string {
  const frame = frameIn(folder, stackOf(thrown))
  return frame === null ? '' : ` (${frame.place})`
}

/** The work that the process is doing at this moment, and the party that it is done for. */
interface CurrentWork {
  /** The plugin whose code is running; `undefined` if that is the node's own. */
  readonly owner: FaultOwner | undefined
  /** The request or other work that the code is running for, as fields of a log line. */
  readonly fields: Readonly<Record<string, unknown>>
  /** An error with the stack of the running code, from the emitted event on. */
  readonly at: Error
}

/**
 * Finds out whose code is running: the plugin with the innermost frame on the stack, else the one of the context.
 *
 * @param called the function whose caller is of interest. Default: the one that emits an event of the process, for its listeners
 */
export function currentWork(message: string, called: CallableFunction = process.emit): CurrentWork {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 100
  const at = new Error(message)
  Error.captureStackTrace(at, called)
  Error.stackTraceLimit = stackTraceLimit
  const context = current.getStore()
  return { owner: find(at, context) ?? context, fields: context?.work ?? {}, at }
}

const finders = new Set<OwnerFinder>()
let restoreMethods = () => {}
/** Node emits `exit` before it calls `process.reallyExit`. */
let exits = false

/**
 * Keeps the process alive when a plugin leaves a promise rejected or throws where nobody catches, and tells the owner
 * of the context in which that happened. Faults without an owner are left to Node, which ends the process.
 *
 * A plugin that calls `process.exit`, or another method that ends the process, cannot be stopped from it. Its owner is told, and
 * the exit code becomes 1.
 *
 * @param find asked whose code made an error; the only clue when the context was lost, as in listeners on an emitter that
 *   another owner created
 * @returns stops watching. The listeners on the process go with the last watcher.
 */
export function watchFaults(find: OwnerFinder): () => void {
  if (finders.size === 0) {
    process.on('unhandledRejection', onRejection)
    process.on('uncaughtException', onException)
    process.on('exit', onExit)
    restoreMethods = watchProcessMethods({
      ending,
      isPlugin: (called) => currentWork('', called).owner !== undefined,
    })
  }
  finders.add(find)
  return () => {
    if (finders.delete(find) && finders.size === 0) stopListening()
  }
}

function onRejection(thrown: unknown): void {
  report(thrown, 'rejection')
}

function onException(thrown: unknown): void {
  report(thrown, 'exception')
}

/** Node emits `exit` within the call of `process.exit`, so the stack and the context are those of the caller. */
function onExit(code: number): void {
  exits = true
  if (ending(`process.exit(${code})`)) process.exitCode = 1
}

/** Tells the owner of the code that ends the process. Returns whether there is one. */
function ending(call: string, called?: CallableFunction): boolean {
  if (exits && called !== undefined) return false
  const { owner, at } = currentWork(`${call} was called.`, called)
  owner?.faulted(at, 'exit')
  return owner !== undefined
}

function report(thrown: unknown, kind: FaultKind): void {
  const owner = current.getStore() ?? find(thrown)
  if (owner !== undefined) {
    owner.faulted(thrown, kind)
    return
  }
  // Without our listeners, Node prints the error and ends the process with code 1.
  stopListening()
  setImmediate(() => {
    throw thrown
  })
}

/** Returns the plugin whose code made an error, by the innermost of its frames that is in the package of a plugin. */
export function originOf(thrown: unknown, context: FaultOwner): FaultOwner | undefined {
  // A NodekeepError is an answer to the caller, who should have handled it.
  return isNodekeepError(thrown) ? undefined : find(thrown, context)
}

function find(thrown: unknown, context?: FaultOwner): FaultOwner | undefined {
  for (const finder of finders) {
    const owner = finder(thrown, context)
    if (owner !== undefined) return owner
  }
  return undefined
}

function stopListening(): void {
  process.off('unhandledRejection', onRejection)
  process.off('uncaughtException', onException)
  process.off('exit', onExit)
  restoreMethods()
}
