import type { Disposer, EventBus, EventType, Log } from '@nodekeep/plugin-sdk'
import { currentContext } from '../faults/fault-context.ts'

/** The event bus of one plugin. */
interface EventScope extends EventBus {
  /**
   * Removes all listeners of this scope, also for events that are emitted but not delivered yet. Listeners that are
   * added afterwards are never called.
   */
  close(): void
}

interface Listener {
  readonly log: Log
  readonly call: (payload: unknown) => void | Promise<void>
}

/**
 * The node's event bus. An event is delivered in a microtask of its own, to the listeners that were there when it was
 * emitted and still are.
 */
export class KernelEventBus {
  readonly #listeners = new Map<string, Set<Listener>>()

  /**
   * Returns the bus of one group of listeners, such as a plugin. All scopes share the events.
   *
   * @param log takes the errors of listeners
   */
  scope(log: Log): EventScope {
    const disposers = new Set<Disposer>()
    let closed = false
    return {
      emit: (event, payload) => this.#emit(event.name, payload),
      on: <T>(event: EventType<T>, call: (payload: T) => void | Promise<void>): Disposer => {
        if (closed) return () => {}
        // A fault of a listener is blamed on the plugin that listens, not on the one that emits.
        const context = currentContext()
        const listener: Listener = { log, call: (payload) => context(() => call(payload as T)) }
        this.#add(event.name, listener)
        const dispose = (): void => {
          this.#listeners.get(event.name)?.delete(listener)
          disposers.delete(dispose)
        }
        disposers.add(dispose)
        return dispose
      },
      close() {
        closed = true
        for (const dispose of disposers) dispose()
      },
    }
  }

  #emit(name: string, payload: unknown): void {
    const listeners = this.#listeners.get(name)
    if (!listeners) return
    const present = [...listeners]
    queueMicrotask(() => {
      for (const listener of present) if (listeners.has(listener)) deliver(name, payload, listener)
    })
  }

  #add(name: string, listener: Listener): void {
    const listeners = this.#listeners.get(name) ?? new Set()
    this.#listeners.set(name, listeners.add(listener))
  }
}

function deliver(event: string, payload: unknown, listener: Listener): void {
  const failed = (err: unknown): void => listener.log.error({ err, event }, 'An event listener failed.')
  try {
    const result = listener.call(payload)
    if (result) Promise.resolve(result).catch(failed)
  } catch (error) {
    failed(error)
  }
}
