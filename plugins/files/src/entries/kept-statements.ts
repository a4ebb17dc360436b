import type { DatabaseSync, StatementSync } from 'node:sqlite'

/** Rows that one step of an erasure changes, and versions of a file that another one takes over at most. */
const stepRows = 300

/** The facts of an entry that is kept. */
interface KeptFacts {
  /** The id of the file of which it is a version; null for an item of the trash. */
  readonly of: number | null
  readonly user: string
  readonly path: string
  /** Milliseconds since 1970. */
  readonly at: number
  /** JSON. */
  readonly maker: string | null
  readonly change_group: string | null
}

/** The statements of the table of kept entries. A trigger deletes the row of an entry that is deleted. */
export class KeptStatements {
  readonly #insert: StatementSync
  readonly #has: StatementSync
  readonly #delete: StatementSync
  readonly #entryOf: StatementSync
  readonly #newest: StatementSync
  readonly #passOn: StatementSync
  readonly #erasing: readonly StatementSync[]

  constructor(connection: DatabaseSync) {
    // A comparison may have found the item before its change was written.
    this.#insert = connection.prepare(
      `INSERT INTO kept_entries (entry, of, user, path, at, maker, change_group, is_handover) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (entry) DO UPDATE SET path = excluded.path, maker = excluded.maker, change_group = excluded.change_group
       WHERE path <> excluded.path`,
    )
    this.#has = connection.prepare('SELECT 1 FROM kept_entries WHERE entry = ?')
    this.#delete = connection.prepare('DELETE FROM kept_entries WHERE entry = ?')
    this.#entryOf = connection.prepare('SELECT entry FROM kept_entries WHERE number = ?')
    this.#newest = connection.prepare(
      'SELECT maker FROM kept_entries WHERE of = ? ORDER BY number DESC LIMIT 1',
    )
    this.#passOn = connection.prepare(
      `UPDATE kept_entries SET of = ? WHERE number IN
       (SELECT number FROM kept_entries WHERE of = ? ORDER BY number DESC LIMIT ${stepRows})`,
    )
    this.#erasing = [
      `DELETE FROM kept_entries WHERE number IN (SELECT number FROM kept_entries WHERE user = ? LIMIT ${stepRows})`,
      `UPDATE kept_entries SET maker = NULL WHERE number IN
       (SELECT number FROM kept_entries WHERE maker ->> 'user' = ? LIMIT ${stepRows})`,
    ].map((statement) => connection.prepare(statement))
  }

  add(entry: number, { of, user, path, at, maker, change_group: group }: KeptFacts): void {
    const former = of === null ? undefined : this.#newest.get(of)
    const isHandover = of !== null && (former === undefined || former.maker !== maker)
    this.#insert.run(entry, of, user, path, at, maker, group, isHandover ? 1 : 0)
  }

  has(entry: number): boolean {
    return this.#has.get(entry) !== undefined
  }

  /** Takes note that an entry is not kept any more. */
  remove(entry: number): void {
    this.#delete.run(entry)
  }

  /** The id of the entry with a number. */
  entryOf(number: number): number | null {
    const entry = this.#entryOf.get(number)?.entry
    return typeof entry === 'number' ? entry : null
  }

  /** Gives the versions of a file to another one, the newest of very many. */
  passOn(from: number, to: number): void {
    this.#passOn.run(to, from)
  }

  /**
   * Deletes what the table has of a user, step by step.
   *
   * @returns whether it was the last step
   */
  erase(user: string): boolean {
    return this.#erasing.every((statement) => statement.run(user).changes < stepRows)
  }
}
