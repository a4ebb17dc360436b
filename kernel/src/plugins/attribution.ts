import { AsyncLocalStorage } from 'node:async_hooks'

/** Who answers for code that runs now: told of a fault that nobody caught. */
export interface Accountable {
  readonly id: string
  /** Takes a rejected promise or thrown error that nobody handled. */
  faulted(thrown: unknown): void
}

const current = new AsyncLocalStorage<Accountable>()

/** Runs code on somebody's account, with all that it starts and leaves behind. */
export function runAs<T>(accountable: Accountable, work: () => T): T {
  return current.run(accountable, work)
}

let watchers = 0

/**
 * Keeps the process alive when a plugin leaves a promise rejected or throws where nobody catches, and tells the
 * one on whose account it ran. Faults of nobody's account are left to Node, which ends the process.
 *
 * @returns stops watching; the process-wide listeners go with the last watcher
 */
export function watchFaults(): () => void {
  if (watchers++ === 0) {
    process.on('unhandledRejection', onFault)
    process.on('uncaughtException', onFault)
  }
  let watching = true
  return () => {
    if (!watching) return
    watching = false
    if (--watchers > 0) return
    process.off('unhandledRejection', onFault)
    process.off('uncaughtException', onFault)
  }
}

function onFault(thrown: unknown): void {
  const accountable = current.getStore()
  if (accountable !== undefined) {
    accountable.faulted(thrown)
    return
  }
  // Without our listeners Node prints the error and ends with code 1, as it would have done.
  process.off('unhandledRejection', onFault)
  process.off('uncaughtException', onFault)
  setImmediate(() => {
    throw thrown
  })
}
