import type { DatabaseSync } from 'node:sqlite'
import { type IndexedEntry, inTransaction } from '@nodekeep/plugin-sdk'

/** A file that may have a preview. */
export interface PreviewEntry {
  readonly userUuid: string
  /** The id of the entry in the index. */
  readonly id: string
  /** The version that the table knows. */
  readonly revision: string | null
}

/** The files of all users that may have previews, and how far the index of each user was read. */
export class EntryTable {
  readonly #database: DatabaseSync

  constructor(database: DatabaseSync) {
    this.#database = database
  }

  /** The cursor up to which the index of a user was read; empty before the first page. */
  cursorOf(userUuid: string): string {
    const row = this.#database.prepare('SELECT cursor FROM followed WHERE user = ?').get(userUuid)
    return row === undefined ? '' : String(row.cursor)
  }

  /**
   * Records a page of the index, with its cursor. A file is due if its version is new.
   *
   * @param page the files that may have previews
   * @param others entries that may have none, such as a picture that was renamed
   */
  learn(
    userUuid: string,
    page: readonly IndexedEntry[],
    others: readonly IndexedEntry[],
    cursor: string,
  ): void {
    const insert = this.#database.prepare(
      `INSERT INTO entry (user, id, revision, modified, due) VALUES (?, ?, ?, ?, 0)
       ON CONFLICT (user, id) DO UPDATE SET
         revision = excluded.revision, modified = excluded.modified, sha256 = NULL, due = 0, date = NULL
       WHERE revision IS NOT excluded.revision OR modified <> excluded.modified`,
    )
    const remove = this.#database.prepare('DELETE FROM entry WHERE user = ? AND id = ?')
    inTransaction(this.#database, () => {
      for (const { id, revision, modified } of page)
        insert.run(userUuid, id, revision, modified?.getTime() ?? 0)
      for (const { id } of others) remove.run(userUuid, id)
      this.#database.prepare('INSERT OR REPLACE INTO followed VALUES (?, ?)').run(userUuid, cursor)
    })
  }

  /** The file to look at next: the newest one of the next user in turn. Null if none is due. */
  nextDue(afterUser: string): PreviewEntry | null {
    const now = Date.now()
    const userAfter = this.#database.prepare(
      'SELECT user FROM entry WHERE due <= ? AND user > ? ORDER BY user LIMIT 1',
    )
    const user = (userAfter.get(now, afterUser) ?? userAfter.get(now, ''))?.user
    if (user === undefined) return null
    const row = this.#database
      .prepare('SELECT id, revision FROM entry WHERE user = ? AND due <= ? ORDER BY modified DESC LIMIT 1')
      .get(user, now)
    if (row === undefined) return null
    return { userUuid: String(user), id: String(row.id), revision: row.revision as string | null }
  }

  /** When the next file is due, in milliseconds since 1970; null if nothing waits. */
  nextDueAt(): number | null {
    const row = this.#database.prepare('SELECT min(due) AS due FROM entry WHERE due IS NOT NULL').get()
    return row?.due == null ? null : Number(row.due)
  }

  /** Lets a file wait for some milliseconds. */
  postpone({ userUuid, id }: PreviewEntry, ms: number): void {
    this.#database
      .prepare('UPDATE entry SET due = ? WHERE user = ? AND id = ?')
      .run(Date.now() + ms, userUuid, id)
  }

  /**
   * Records that nothing is left to do for a file, unless a newer version was learned meanwhile.
   *
   * @param sha256 of its content; null if nobody can decode its format
   * @param seen the version that was looked at
   */
  settle(
    { userUuid, id, revision: known }: PreviewEntry,
    sha256: string | null,
    seen: Pick<IndexedEntry, 'revision' | 'modified'>,
  ): void {
    const { revision, modified } = seen
    this.#database
      .prepare(
        `UPDATE entry SET sha256 = :sha256, due = NULL, revision = :revision, modified = :modified,
           date = (SELECT coalesce(unixepoch(taken) * 1000, :modified) FROM content
             WHERE content.user = :user AND content.sha256 = :sha256 AND width IS NOT NULL)
         WHERE user = :user AND id = :id AND revision IS :known`,
      )
      .run({ user: userUuid, id, known, sha256, revision, modified: modified?.getTime() ?? 0 })
  }

  /** Reads the index of all users again, and makes files due again that nobody could decode. */
  lookAgain(): void {
    this.#database.exec(
      `DELETE FROM followed;
       UPDATE entry SET due = 0 WHERE due IS NULL AND (sha256 IS NULL OR NOT EXISTS (
         SELECT 1 FROM content WHERE content.user = entry.user AND content.sha256 = entry.sha256))`,
    )
  }

  forget(userUuid: string, id: string): void {
    this.#database.prepare('DELETE FROM entry WHERE user = ? AND id = ?').run(userUuid, id)
  }

  /** Some ids of a user in their order. */
  idsAfter(userUuid: string, id: string, limit: number): string[] {
    return this.#database
      .prepare('SELECT id FROM entry WHERE user = ? AND id > ? ORDER BY id LIMIT ?')
      .all(userUuid, id, limit)
      .map((row) => String(row.id))
  }

  /** The number of photos of a user by the month of their date, such as `2026-05`, the newest first. */
  months(userUuid: string): { readonly month: string; readonly photos: number }[] {
    return this.#database
      .prepare(
        `SELECT strftime('%Y-%m', date / 1000.0, 'unixepoch') AS month, count(*) AS photos FROM entry
         WHERE user = ? AND date IS NOT NULL GROUP BY month HAVING month IS NOT NULL ORDER BY month DESC`,
      )
      .all(userUuid)
      .map(({ month, photos }) => ({ month: String(month), photos: Number(photos) }))
  }

  /** The users of whom there is anything. */
  users(): string[] {
    return this.#database
      .prepare(
        `SELECT user FROM followed UNION SELECT user FROM entry UNION SELECT user FROM content
         UNION SELECT user FROM preview`,
      )
      .all()
      .map(({ user }) => String(user))
  }

  /** @param userUuid null for all users */
  countWaiting(userUuid: string | null): number {
    const row = this.#database
      .prepare('SELECT count(*) AS count FROM entry WHERE due IS NOT NULL AND user = coalesce(?, user)')
      .get(userUuid)
    return Number(row?.count)
  }

  erase(userUuid: string): void {
    this.#database.prepare('DELETE FROM entry WHERE user = ?').run(userUuid)
    this.#database.prepare('DELETE FROM followed WHERE user = ?').run(userUuid)
  }
}
