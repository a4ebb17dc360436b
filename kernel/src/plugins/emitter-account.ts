import type { EventEmitter } from 'node:events'
import type { AccountRunner } from './attribution.ts'

/**
 * Has an emitter call all its listeners on an account. Node emits the events of a connection on the account under which
 * the connection came in, which is nobody's.
 */
export function keepAccount(emitter: EventEmitter, run: AccountRunner): void {
  const { emit } = emitter
  emitter.emit = (event, ...args) => {
    // Most events of a request are nobody's business. An error that is would be thrown.
    if (event !== 'error' && emitter.listenerCount(event) === 0) return false
    return run(() => {
      try {
        return emit.call(emitter, event, ...args)
      } catch (error) {
        // On its way up the error would leave the account.
        queueMicrotask(() => {
          throw error
        })
        return true
      }
    })
  }
}
