import type { EventEmitter } from 'node:events'
import { replaceMethod } from '../http/replace-method.ts'
import { type FaultOwner, runInContextOf } from './fault-context.ts'

/**
 * Makes an emitter call its listeners in the fault context of an owner. Node emits the events of a connection in the
 * context in which the connection was accepted, which has no owner.
 */
export function bindEmitter(emitter: EventEmitter, owner: FaultOwner): void {
  const { emit } = emitter
  replaceMethod(emitter, 'emit', (event, ...args) => {
    // Most events of a request have no listener. An 'error' without a listener is thrown.
    if (event !== 'error' && emitter.listenerCount(event) === 0) return false
    return runInContextOf(owner, () => {
      try {
        return emit.call(emitter, event, ...args)
      } catch (error) {
        // On its way up, the error would leave the context.
        queueMicrotask(() => {
          throw error
        })
        return true
      }
    })
  })
}
