import { hash } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { inTransaction, type TriedBackup, type User } from '@nodekeep/plugin-sdk'
import type { StoredBackup } from '../stored/backup-folder.ts'

/** Rows that one transaction writes, and contents that are looked up in one turn of the event loop. */
const rowsAtOnce = 500

/** A content of a user in a backup. */
interface UserContent {
  readonly uuid: string
  /** Hexadecimal. */
  readonly sha256: string
}

/** A backup that was tried out, as the table has it. */
interface Tried extends TriedBackup {
  readonly id: number
}

/**
 * Remembers which contents the backups have that passed their drills. A drill has the archive open, also an encrypted one, so nothing is
 * read twice. A row has only a hash of user and content: it tells nothing without both, and a large backup takes some 45 bytes a file.
 */
export class TriedContents {
  readonly #makeFile: () => string
  readonly #backups: () => Promise<readonly StoredBackup[]>
  #opened: DatabaseSync | null = null
  /** The backup that was noted last, to its end. */
  #noted: { readonly filename: string; readonly id: number } | null = null

  /**
   * @param makeFile returns the path of the database. It is called when it is needed first
   * @param backups lists the backups that are there
   */
  constructor(makeFile: () => string, backups: () => Promise<readonly StoredBackup[]>) {
    this.#makeFile = makeFile
    this.#backups = backups
  }

  /** Notes what a backup has. It does not count before {@link confirm}. What is known of backups that are gone is removed. */
  async note(filename: string, size: number, contents: AsyncIterable<UserContent>): Promise<void> {
    this.#noted = null
    await this.#forgetGone()
    const database = this.#database
    const made = database.prepare('INSERT INTO backup (filename, size) VALUES (?, ?)').run(filename, size)
    const backup = Number(made.lastInsertRowid)
    const insert = database.prepare('INSERT OR IGNORE INTO content (backup, key) VALUES (?, ?)')
    const write = async (keys: readonly Buffer[]) => {
      inTransaction(database, () => {
        for (const key of keys) insert.run(backup, key)
      })
      await nextTurn()
    }
    let keys: Buffer[] = []
    for await (const { uuid, sha256 } of contents) {
      keys.push(keyOf(uuid, sha256))
      if (keys.length < rowsAtOnce) continue
      await write(keys)
      keys = []
    }
    await write(keys)
    this.#noted = { filename, id: backup }
  }

  /** Lets the backup count that was noted last, since it has passed. */
  confirm(filename: string, at: Date): void {
    if (this.#noted?.filename !== filename) return
    this.#database.prepare('UPDATE backup SET tried = ? WHERE id = ?').run(at.getTime(), this.#noted.id)
  }

  /** As `having` of the service. */
  async having(
    { uuid }: Pick<User, 'uuid'>,
    contents: readonly string[],
  ): Promise<readonly (TriedBackup | null)[]> {
    const tried = await this.#tried()
    const select = this.#database.prepare('SELECT 1 FROM content WHERE backup = ? AND key = ?')
    const found: (TriedBackup | null)[] = []
    for (const sha256 of contents) {
      const key = keyOf(uuid, sha256)
      const backup = tried.find(({ id }) => select.get(id, key) !== undefined)
      found.push(backup === undefined ? null : { createdAt: backup.createdAt, triedAt: backup.triedAt })
      if (found.length % rowsAtOnce === 0) await nextTurn()
    }
    return found
  }

  close(): void {
    this.#opened?.close()
    this.#opened = null
  }

  /** The backups that passed and are there as they were, the newest first. */
  async #tried(): Promise<Tried[]> {
    const stored = await this.#backups()
    const rows = this.#database.prepare('SELECT * FROM backup WHERE tried IS NOT NULL').all()
    return stored.flatMap(({ filename, size, created }) => {
      const row = rows.find((one) => one.filename === filename && one.size === size)
      return row === undefined
        ? []
        : [{ id: Number(row.id), createdAt: created, triedAt: new Date(Number(row.tried)) }]
    })
  }

  /** Removes what is known of backups that are gone, or that did not pass. */
  async #forgetGone(): Promise<void> {
    const database = this.#database
    const tried = new Set((await this.#tried()).map(({ id }) => id))
    const gone = database
      .prepare('SELECT id FROM backup')
      .all()
      .filter(({ id }) => !tried.has(Number(id)))
    const remove = database.prepare(
      'DELETE FROM content WHERE backup = ?1 AND key IN (SELECT key FROM content WHERE backup = ?1 LIMIT ?2)',
    )
    for (const { id = null } of gone) {
      database.prepare('UPDATE backup SET tried = NULL WHERE id = ?').run(id)
      while (remove.run(id, rowsAtOnce).changes > 0) await nextTurn()
      database.prepare('DELETE FROM backup WHERE id = ?').run(id)
    }
  }

  get #database(): DatabaseSync {
    this.#opened ??= open(this.#makeFile())
    return this.#opened
  }
}

function open(file: string): DatabaseSync {
  const database = new DatabaseSync(file)
  database.exec(`
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    CREATE TABLE IF NOT EXISTS backup (
      id INTEGER PRIMARY KEY,
      filename TEXT NOT NULL,
      -- Bytes of the archive, so that another one of this name does not count.
      size INTEGER NOT NULL,
      -- Milliseconds since 1970; NULL until it has passed.
      tried INTEGER
    );
    CREATE TABLE IF NOT EXISTS content (
      backup INTEGER NOT NULL,
      key BLOB NOT NULL,
      PRIMARY KEY (backup, key)
    ) WITHOUT ROWID;`)
  return database
}

function keyOf(uuid: string, sha256: string): Buffer {
  return hash('sha256', `${uuid}/${sha256}`, 'buffer')
}
