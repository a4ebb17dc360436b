import type { Disposer } from './service.ts'

declare const payload: unique symbol

/** The identity of an event: a name, and the type of its payload. */
export interface EventType<T> {
  readonly name: string
  readonly [payload]?: T
}

/** Defines an event, for example `file.changed`. Two event types with the same name are the same event. */
export function defineEvent<T>(name: string): EventType<T> {
  return Object.freeze({ name })
}

/**
 * Events between plugins inside one process.
 *
 * Events are delivered at most once and in the order of emission. They are not stored for later listeners. A plugin that
 * must not miss a change reads a journal (`ChangeLog`) and uses the event only as a hint to read it now.
 */
export interface EventBus {
  /** Calls every listener with the payload, after the current call stack. A listener that throws does not affect others. */
  emit<T>(event: EventType<T>, payload: T): void
  /** Calls the listener for each event, until the disposer is called or the plugin stops. */
  on<T>(event: EventType<T>, listener: (payload: T) => void | Promise<void>): Disposer
}
