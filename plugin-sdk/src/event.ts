import type { Disposer } from './service.ts'

declare const payload: unique symbol

/** The identity of an event: a name, and the type of what it carries. */
export interface EventType<T> {
  readonly name: string
  readonly [payload]?: T
}

/** Names an event, for example `file.changed`. Two event types with the same name are the same event. */
export function defineEvent<T>(name: string): EventType<T> {
  return Object.freeze({ name })
}

/**
 * Announcements between plugins inside one process.
 *
 * Delivery is at most once and in the order of emission; nothing is kept for those who listen later or after a
 * restart. Who must not miss a change reads a journal (`ChangeLog`) and takes the event as "look now".
 */
export interface EventBus {
  /** Hands the payload to every listener, after the current call stack. A listener that throws harms nobody. */
  emit<T>(event: EventType<T>, payload: T): void
  /** Listens until the disposer is called or the plugin stops. */
  on<T>(event: EventType<T>, listener: (payload: T) => void | Promise<void>): Disposer
}
