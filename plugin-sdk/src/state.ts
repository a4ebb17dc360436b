/**
 * A plugin's own key-value store: durable, shared with no other plugin. Values are what JSON can hold.
 *
 * Single calls are atomic; two calls are not. What needs transactions or ranges has a contract of its own.
 */
export interface StateStore {
  /** The value, or `undefined` when there is none or its time is over. */
  get<T>(key: string): Promise<T | undefined>
  /**
   * Stores a value; resolved means durable.
   *
   * @param ttlMs milliseconds after which the value is gone; without it, it stays
   */
  set(key: string, value: unknown, ttlMs?: number): Promise<void>
  /** Tells whether there was a value. */
  delete(key: string): Promise<boolean>
  has(key: string): Promise<boolean>
  /** All entries, in no particular order. Entries written meanwhile may or may not come. */
  entries<T>(): AsyncIterable<readonly [key: string, value: T]>
  /** Removes everything that the plugin stored. */
  clear(): Promise<void>
}

/** One step in the life of a plugin's state. */
export interface Migration {
  /** Unique within the plugin and never changed after release, such as `2-notes-by-date`. */
  readonly id: string
  /**
   * Changes the state. It runs once, inside a transaction: when it throws, nothing of it stays. Meanwhile the whole node
   * can read its state but not change it, so do nothing in it that takes long, such as asking other servers.
   *
   * @param state the plugin's store; the one from the setup context shows the state before this migration, and to change
   * something by it would wait for this migration, until its time limit
   */
  up(state: StateStore): Promise<void>
}

/**
 * Runs those of the migrations that have not run yet, in order, and records each. Call it first in `setup`.
 *
 * Rejects when the recorded ones are not the beginning of the list: the state was written by a newer version
 * of the plugin, or a released migration was renamed or moved.
 */
export type Migrate = (migrations: readonly Migration[]) => Promise<void>
