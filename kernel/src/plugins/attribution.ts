import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks'

/** What nobody caught: a rejected promise, or an exception that broke off what was running. */
export type FaultKind = 'rejection' | 'exception'

/** Who answers for code that runs now: told of a fault that nobody caught. */
export interface Accountable {
  readonly id: string
  /** Takes a rejected promise or thrown error that nobody handled. */
  faulted(thrown: unknown, kind: FaultKind): void
}

/** Finds who answers for a fault that surfaced on nobody's account, by what it says of its origin. */
export type FaultFinder = (thrown: unknown) => Accountable | undefined

const current = new AsyncLocalStorage<Accountable>()

/** Runs code on somebody's account, with all that it starts and leaves behind. */
export function runAs<T>(accountable: Accountable, work: () => T): T {
  return current.run(accountable, work)
}

/**
 * As {@link runAs}, for half of its cost where nothing is on anybody's account: it doesn't come back to that. Node does,
 * when the callback returns in which this was called.
 */
export function goOnAs<T>(accountable: Accountable, work: () => T): T {
  if (current.getStore() !== undefined) return runAs(accountable, work)
  current.enterWith(accountable)
  return work()
}

/** Runs code on somebody's account, again and again. For more than one time it is cheaper than {@link runAs}. */
export type AccountRunner = <T>(work: () => T) => T

/** What runs code on somebody's account from now on. Code that is on it already keeps whatever else it runs in. */
export function runnerFor(accountable: Accountable): AccountRunner {
  const resource = current.run(accountable, () => new AsyncResource('NodekeepAccount'))
  return (work) => (current.getStore() === accountable ? work() : resource.runInAsyncScope(work))
}

const finders = new Set<FaultFinder>()

/**
 * Keeps the process alive when a plugin leaves a promise rejected or throws where nobody catches, and tells the
 * one on whose account it ran. Faults of nobody's account are left to Node, which ends the process.
 *
 * @param find asked when the account got lost, as it does in listeners on an emitter that belongs to somebody else
 * @returns stops watching; the process-wide listeners go with the last watcher
 */
export function watchFaults(find: FaultFinder): () => void {
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
  const accountable = current.getStore() ?? found(thrown)
  if (accountable !== undefined) {
    accountable.faulted(thrown, kind)
    return
  }
  // Without our listeners Node prints the error and ends with code 1, as it would have done.
  stopListening()
  setImmediate(() => {
    throw thrown
  })
}

function found(thrown: unknown): Accountable | undefined {
  for (const find of finders) {
    const accountable = find(thrown)
    if (accountable !== undefined) return accountable
  }
  return undefined
}

function stopListening(): void {
  process.off('unhandledRejection', onRejection)
  process.off('uncaughtException', onException)
}
