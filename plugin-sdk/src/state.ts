/**
 * A plugin's own key-value store. It is durable, and no other plugin can access it. Values are JSON values.
 *
 * A single call is atomic; two calls are not. There are no transactions and no ranges.
 */
export interface StateStore {
  /** Returns the value, or `undefined` when there is none or it has expired. */
  get<T>(key: string): Promise<T | undefined>
  /**
   * Stores a value. When the promise resolves, the value is durable.
   *
   * @param ttlMs milliseconds after which the value expires; without it, the value never expires
   */
  set(key: string, value: unknown, ttlMs?: number): Promise<void>
  /** Removes a value. Resolves with whether there was one. */
  delete(key: string): Promise<boolean>
  has(key: string): Promise<boolean>
  /** Returns all entries, in no particular order. Entries that are written meanwhile may be missing. */
  entries<T>(): AsyncIterable<readonly [key: string, value: T]>
  /** Removes all values of the plugin. */
  clear(): Promise<void>
}

/** One change of the form of a plugin's state. */
export interface Migration {
  /** Unique within the plugin, such as `2-notes-by-date`. It must not change after a release. */
  readonly id: string
  /**
   * Changes the state. It runs once, inside a transaction: if it throws, all its changes are undone. Meanwhile the whole
   * node can read its state but not change it, so avoid slow work, such as requests to other servers.
   *
   * @param state the plugin's store within the transaction; the store of the setup context shows the state before this
   * migration, and a change through that store would wait for this migration, until its time limit
   */
  up(state: StateStore): Promise<void>
}

/**
 * Runs the migrations that have not run yet, in order, and records each. Call it first in `setup`.
 *
 * Rejects when the recorded migrations are not the beginning of the list: a newer version of the plugin wrote the state,
 * or a released migration was renamed or moved.
 */
export type Migrate = (migrations: readonly Migration[]) => Promise<void>
