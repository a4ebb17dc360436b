import { DatabaseSync } from 'node:sqlite'
import { NodekeepError } from '@nodekeep/plugin-sdk'

/** SQLITE_FULL: the disk is full, or the database reached its limit. https://www.sqlite.org/rescode.html */
const fullCode = 13

/**
 * `node`: files and folders. A folder has no content. `content`: one row for each write. Its number is never used again,
 * so it is the revision of the file. `chunk`: the bytes of a content, by their position.
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
    // Contents of writes that the last process did not finish.
    this.connection.exec(
      'DELETE FROM content WHERE id NOT IN (SELECT content FROM node WHERE content IS NOT NULL)',
    )
  }

  /** Does all of the work or none of it. When it returns, this and all earlier work is on the disk. */
  transaction<T>(work: () => T): T {
    return this.#run('FULL', work)
  }

  /** As `transaction`, but a power loss may undo it until the next `transaction` has ended. */
  deferredTransaction<T>(work: () => T): T {
    return this.#run('NORMAL', work)
  }

  #run<T>(synchronous: 'FULL' | 'NORMAL', work: () => T): T {
    this.connection.exec(`PRAGMA synchronous = ${synchronous}; BEGIN IMMEDIATE`)
    try {
      const result = work()
      this.connection.exec('COMMIT')
      return result
    } catch (error) {
      // After some failures, SQLite has already rolled back.
      if (this.connection.isTransaction) this.connection.exec('ROLLBACK')
      if ((error as { errcode?: number }).errcode !== fullCode) throw error
      throw new NodekeepError(
        'INSUFFICIENT_STORAGE',
        'The database of files is full. Remove files, or raise maxBytes.',
        {
          cause: error,
        },
      )
    }
  }
}
