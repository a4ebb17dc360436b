/**
 * A plugin's own key-value store. It is durable, and no other plugin can access it. Values are JSON values.
 *
 * A single call is atomic; two calls are not. There are no transactions and no ranges.
 *
 * The values are in backups of the node, except those that expire within 24 hours of the moment of the backup: a restore must not
 * bring back what was to be used once, such as a nonce. After a restore they are missing, as if they had expired.
 */
export interface StateStore {
  /** Returns the value, or `undefined` when there is none or it has expired. */
  get<T>(key: string): Promise<T | undefined>
  /**
   * Stores a value. When the promise resolves, the value is durable.
   *
   * @param ttlMs milliseconds after which the value expires; without it, the value never expires. With less than 24 hours, the
   * value is never in a backup
   */
  set(key: string, value: unknown, ttlMs?: number): Promise<void>
  /**
   * Stores a value if the key has none, as {@link StateStore.set} does. Resolves with whether it stored it: of several calls for one key,
   * also of other processes, one does. So something is used once only, such as a ticket.
   */
  add(key: string, value: unknown, ttlMs?: number): Promise<boolean>
  /** Removes a value. Resolves with whether there was one. */
  delete(key: string): Promise<boolean>
  has(key: string): Promise<boolean>
  /** Returns all entries, in no particular order. Entries that are written meanwhile may be missing. */
  entries<T>(): AsyncIterable<readonly [key: string, value: T]>
  /** Removes all values of the plugin. */
  clear(): Promise<void>
}

/**
 * Whether the version before a migration can still use the data after it, and lose nothing of it.
 *
 * - `expand`: it can. The migration only adds. In the state: new keys, and new fields of existing objects; existing keys
 *   and fields stay as they are. In SQL: new tables, new columns that are nullable or have a default, and new indexes.
 *   The first migration, which finds no data, is an expansion.
 * - `contract`: it cannot. The migration renames, removes or rewrites something. Release it at the earliest two releases
 *   after the last version that uses the old form.
 *
 * After an update, a person can go back to the version before only if the update expanded and did not contract.
 */
export type MigrationChange = 'expand' | 'contract'

/** One change of the form of a plugin's state. */
export interface Migration {
  /** Unique within the plugin, such as `2-notes-by-date`. It must not change after a release. */
  readonly id: string
  /** The node refuses a migration without it. */
  readonly change: MigrationChange
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
 * Expansions of a newer version of the plugin may have run already. Rejects when a newer version contracted the state, when a
 * released migration was renamed or moved, and when a migration does not declare its change.
 */
export type Migrate = (migrations: readonly Migration[]) => Promise<void>
