import { AsyncLocalStorage } from 'node:async_hooks'
import type { EventEmitter } from 'node:events'

/**
 * Has an emitter call all its listeners on the account that runs now. Node emits the events of a connection on
 * the account under which the connection came in, which is nobody's.
 */
export function keepAccount(emitter: EventEmitter): void {
  const onAccount = AsyncLocalStorage.snapshot()
  const { emit } = emitter
  emitter.emit = (event, ...args) =>
    onAccount(() => {
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
