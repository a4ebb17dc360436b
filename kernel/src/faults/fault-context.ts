import { AsyncLocalStorage } from 'node:async_hooks'
import { sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { stackOf } from '../errors/thrown.ts'

/** A promise that rejected without a handler, or an exception that nobody caught. */
export type FaultKind = 'rejection' | 'exception'

/** The plugin, request or connection that a fault is blamed on. */
export interface FaultOwner {
  /** The id of the plugin. */
  readonly id: string
  /** Takes a rejection or an exception that nobody handled. */
  faulted(thrown: unknown, kind: FaultKind): void
}

/** Runs work in the fault context of one owner: faults that the work leaves behind are blamed on that owner. */
export type FaultContext = <T>(work: () => T) => T

/** Returns the owner of a fault that surfaced in no context, by what the fault says of its origin. */
export type OwnerFinder = (thrown: unknown) => FaultOwner | undefined

const current = new AsyncLocalStorage<FaultOwner>()

/** Runs work in the fault context of an owner, together with everything asynchronous that the work starts. */
export function runInContextOf<T>(owner: FaultOwner, work: () => T): T {
  return current.getStore() === owner ? work() : current.run(owner, work)
}

/** Returns the context that the caller runs in, to enter it again later. */
export function currentContext(): FaultContext {
  return AsyncLocalStorage.snapshot()
}

/** Returns whether an error was made by code in a folder, such as a plugin's package. Its stack names the files. */
export function wasMadeIn(folder: string, thrown: unknown): boolean {
  const stack = stackOf(thrown)
  return stack.includes(`${pathToFileURL(folder).href}/`) || stack.includes(`${folder}${sep}`)
}

const finders = new Set<OwnerFinder>()

/**
 * Keeps the process alive when a plugin leaves a promise rejected or throws where nobody catches, and tells the owner
 * of the context in which that happened. Faults without an owner are left to Node, which ends the process.
 *
 * @param find asked when the context was lost, as in listeners on an emitter that another owner created
 * @returns stops watching. The listeners on the process go with the last watcher.
 */
export function watchFaults(find: OwnerFinder): () => void {
  if (finders.size === 0) {
    process.on('unhandledRejection', onRejection)
    process.on('uncaughtException', onException)
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

function find(thrown: unknown): FaultOwner | undefined {
  for (const finder of finders) {
    const owner = finder(thrown)
    if (owner !== undefined) return owner
  }
  return undefined
}

function stopListening(): void {
  process.off('unhandledRejection', onRejection)
  process.off('uncaughtException', onException)
}
