import { DatabaseSync } from 'node:sqlite'
import { NodekeepError } from '@nodekeep/plugin-sdk'

/** SQLite's result code for a full disk, or for a database that may not grow: https://www.sqlite.org/rescode.html */
const FULL = 13

/**
 * `node`: files and folders. A folder has no content. `content`: what was ever written gets a number that never comes
 * again, which makes it the revision of the file. `chunk`: the bytes of a content, by their position in it.
 */
const tables = `
  CREATE TABLE IF NOT EXISTS content (id INTEGER PRIMARY KEY AUTOINCREMENT) STRICT;
  CREATE TABLE IF NOT EXISTS chunk (
    content INTEGER NOT NULL REFERENCES content ON DELETE CASCADE,
    position INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    UNIQUE (content, position)
  ) STRICT;
  CREATE TABLE IF NOT EXISTS node (
    id INTEGER PRIMARY KEY,
    parent INTEGER REFERENCES node,
    name TEXT NOT NULL,
    content INTEGER UNIQUE REFERENCES content,
    size INTEGER NOT NULL,
    modified INTEGER NOT NULL,
    created INTEGER NOT NULL,
    UNIQUE (parent, name)
  ) STRICT;
  INSERT OR IGNORE INTO node VALUES (1, NULL, '/', NULL, 0, 0, 0);
`

export class Database {
  readonly connection: DatabaseSync

  constructor(file: string, maxBytes: number) {
    this.connection = new DatabaseSync(file)
    this.connection.exec('PRAGMA journal_mode = WAL')
    this.connection.exec(tables)
    const { page_size: pageSize } = this.connection.prepare('PRAGMA page_size').get() as { page_size: number }
    this.connection.exec(`PRAGMA max_page_count = ${Math.floor(maxBytes / pageSize)}`)
    // What a write began that the last process never finished.
    this.connection.exec(
      'DELETE FROM content WHERE id NOT IN (SELECT content FROM node WHERE content IS NOT NULL)',
    )
  }

  /** Does all of the work or nothing of it. It is on the disk then, with everything that was done before. */
  transaction<T>(work: () => T): T {
    return this.#run('FULL', work)
  }

  /** The same, but a power cut may undo it as long as no {@link Database.transaction} came after it. */
  hurriedTransaction<T>(work: () => T): T {
    return this.#run('NORMAL', work)
  }

  #run<T>(synchronous: 'FULL' | 'NORMAL', work: () => T): T {
    this.connection.exec(`PRAGMA synchronous = ${synchronous}; BEGIN IMMEDIATE`)
    try {
      const result = work()
      this.connection.exec('COMMIT')
      return result
    } catch (error) {
      // SQLite has rolled back by itself after some failures.
      if (this.connection.isTransaction) this.connection.exec('ROLLBACK')
      if ((error as { errcode?: number }).errcode !== FULL) throw error
      throw new NodekeepError(
        'INSUFFICIENT_STORAGE',
        'The database of files is full. Remove files to make room.',
        {
          cause: error,
        },
      )
    }
  }
}
