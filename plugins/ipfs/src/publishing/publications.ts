import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync, type SQLInputValue, type SQLOutputValue } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import { type ChangePosition, inTransaction, NodekeepError } from '@nodekeep/plugin-sdk'
import { isDiskFull } from '@nodekeep/plugin-sdk/data-folder'
import { Turns } from '../turns.ts'

/** Rows that one transaction adds or removes, and that are counted at once. */
const rowsAtOnce = 100

/** A file or folder that a user has published. */
export interface Publication {
  readonly id: string
  readonly userUuid: string
  /** Absolute path within the user's files. */
  readonly path: string
  /** The revision of a file; `null` for a folder. */
  readonly revision: string | null
  /** The position in the journal up to which a folder has not changed; `null` for a file, and for a folder that has changed. */
  readonly unchangedUntil: ChangePosition | null
  /** The CID of the root, as text. */
  readonly cid: string
  /** Bytes of content. */
  readonly size: number
  /** Files in it. */
  readonly files: number
  readonly publishedAt: Date
}

/** The state of a publication, for its user. */
export type PublicationState = 'adding' | 'failed' | 'published' | 'changed' | 'gone' | 'missing'

/** A publication as its user sees it. */
export interface ListedPublication extends Pick<Publication, 'id' | 'path' | 'revision' | 'size' | 'files'> {
  readonly state: PublicationState
  /** Null before it is published. */
  readonly cid: string | null
  /** Null before it is published. */
  readonly publishedAt: Date | null
  /** Bytes of content that were read so far, with `adding`. */
  readonly addedBytes?: number
  /** The reason for its user, with `failed`. */
  readonly problem?: string
}

/** A publication that is being added: nobody sees it yet. */
export interface PublicationDraft {
  readonly number: number
  readonly id: string
}

/** A block below a publication. */
export interface PublishedBlock {
  readonly cid: Uint8Array
  /** Bytes. */
  readonly length: number
}

/**
 * `published`: milliseconds since 1970; NULL until all blocks are stored, and after the withdrawal. `unchanged_until`: JSON of a position
 * in the journal.
 */
const tables = `
  CREATE TABLE IF NOT EXISTS publication (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    user TEXT NOT NULL,
    path TEXT NOT NULL,
    revision TEXT,
    unchanged_until TEXT,
    cid TEXT NOT NULL,
    size INTEGER NOT NULL,
    files INTEGER NOT NULL,
    published INTEGER
  ) STRICT;
  CREATE INDEX IF NOT EXISTS publication_path ON publication (user, path);
  CREATE TABLE IF NOT EXISTS block (
    publication INTEGER NOT NULL REFERENCES publication,
    cid BLOB NOT NULL,
    length INTEGER NOT NULL,
    PRIMARY KEY (publication, cid)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS block_cid ON block (cid);
`

const lost = 'Everything that was published is withdrawn: publish it again.'

/**
 * The publications of all users, and the CIDs below each of them. The database is opened at its first use.
 *
 * A publication is visible when its row says so, and its CIDs are added before and removed after that, some at a time. So a crash
 * leaves nothing visible that is not published.
 */
export class Publications {
  readonly #makeFile: () => string
  readonly #existed: boolean
  /** The bytes of users, or their count that runs. */
  readonly #bytes = new Map<string, Promise<number>>()
  #opened: DatabaseSync | null = null

  constructor(
    dataDir: string,
    sqliteFile: (name: string, options: { readonly newIfDamaged: string }) => string,
  ) {
    this.#makeFile = () => sqliteFile('publications', { newIfDamaged: lost })
    this.#existed = existsSync(join(dataDir, 'publications.sqlite'))
  }

  /** Whether anything was ever published. */
  get isUsed(): boolean {
    return this.#opened !== null || this.#existed
  }

  /** The publications of a user, the newest first. */
  list(userUuid: string): Publication[] {
    const select =
      'SELECT * FROM publication WHERE user = ? AND published IS NOT NULL ORDER BY published DESC, number DESC'
    return this.#rows(select, userUuid).map(publicationOf)
  }

  /** How many publications a user has. */
  count(userUuid: string): number {
    const select = 'SELECT count(*) AS count FROM publication WHERE user = ? AND published IS NOT NULL'
    return Number(this.#rows(select, userUuid)[0]?.count ?? 0)
  }

  /** All publications of all users. */
  all(): Publication[] {
    const select = 'SELECT * FROM publication WHERE published IS NOT NULL ORDER BY number'
    return this.#rows(select).map(publicationOf)
  }

  get(userUuid: string, id: string): Publication | null {
    const select = 'SELECT * FROM publication WHERE id = ? AND user = ? AND published IS NOT NULL'
    return this.#rows(select, id, userUuid).map(publicationOf)[0] ?? null
  }

  /** The CID of a file that is published as it is now; `null` if it is not. */
  cidOf(userUuid: string, path: string, revision: string): string | null {
    const select =
      'SELECT cid FROM publication WHERE user = ? AND path = ? AND revision = ? AND published IS NOT NULL'
    return (this.#rows(select, userUuid, path, revision)[0]?.cid as string | undefined) ?? null
  }

  /** Whether a block is reachable from the root of a publication. */
  isPublished(cid: Uint8Array): boolean {
    const select = `SELECT 1 FROM block JOIN publication ON number = publication
      WHERE block.cid = ? AND published IS NOT NULL LIMIT 1`
    return this.#rows(select, cid).length > 0
  }

  /** The bytes that the publications of a user take. Each block counts once. */
  async bytesOf(userUuid: string): Promise<number> {
    if (!this.isUsed) return 0
    const known = this.#bytes.get(userUuid)
    if (known !== undefined) return known
    const counted = this.#countBytes(userUuid)
    this.#bytes.set(userUuid, counted)
    counted.catch(() => this.#bytes.delete(userUuid))
    return counted
  }

  /** A block counts for the first publication that has it. */
  async #countBytes(userUuid: string): Promise<number> {
    const publications = this.#database
      .prepare('SELECT number FROM publication WHERE user = ? AND published IS NOT NULL')
      .all(userUuid)
    const some =
      this.#database.prepare(`SELECT count(*) AS blocks, max(cid) AS last, sum(length) FILTER (WHERE NOT EXISTS (
        SELECT 1 FROM block JOIN publication ON number = publication
        WHERE block.cid = some.cid AND number < ?1 AND user = ?2 AND published IS NOT NULL)) AS bytes
      FROM (SELECT cid, length FROM block WHERE publication = ?1 AND cid > ?3 ORDER BY cid LIMIT ${rowsAtOnce}) AS some`)
    const turns = new Turns()
    let bytes = 0
    for (const { number } of publications)
      for (let last = new Uint8Array(0); ; ) {
        await turns.give()
        const row = some.get(Number(number), userUuid, last)
        bytes += Number(row?.bytes)
        if (Number(row?.blocks) < rowsAtOnce) break
        last = row?.last as Uint8Array<ArrayBuffer>
      }
    return bytes
  }

  begin(userUuid: string, path: string): PublicationDraft {
    const id = randomUUID()
    const insert = `INSERT INTO publication (id, user, path, cid, size, files) VALUES (?, ?, ?, '', 0, 0)`
    return change(() => {
      const { lastInsertRowid } = this.#database.prepare(insert).run(id, userUuid, path)
      return { id, number: Number(lastInsertRowid) }
    })
  }

  addBlocks({ number }: PublicationDraft, blocks: readonly PublishedBlock[]): void {
    const insert = this.#database.prepare('INSERT OR IGNORE INTO block VALUES (?, ?, ?)')
    change(() =>
      inTransaction(this.#database, () => {
        for (const { cid, length } of blocks) insert.run(number, cid, length)
      }),
    )
  }

  /** The publication with the same content of the same path, if there is one. */
  same(userUuid: string, path: string, cid: string): Publication | null {
    const select =
      'SELECT * FROM publication WHERE user = ? AND path = ? AND cid = ? AND published IS NOT NULL'
    return this.#rows(select, userUuid, path, cid).map(publicationOf)[0] ?? null
  }

  /** Makes a draft visible. */
  publish({ id }: PublicationDraft, content: Omit<Publication, 'id' | 'publishedAt'>): Publication {
    const { userUuid, revision, unchangedUntil, cid, size, files } = content
    const publication = { ...content, id, publishedAt: new Date() }
    const update = `UPDATE publication
      SET revision = ?, unchanged_until = ?, cid = ?, size = ?, files = ?, published = ? WHERE id = ?`
    this.#durably(() => {
      const published = publication.publishedAt.getTime()
      this.#database
        .prepare(update)
        .run(revision, textOf(unchangedUntil), cid, size, files, published, publication.id)
    })
    this.#bytes.delete(userUuid)
    return publication
  }

  /** Whether a publication is visible. */
  has(id: string): boolean {
    const select = 'SELECT 1 FROM publication WHERE id = ? AND published IS NOT NULL'
    return this.#rows(select, id).length > 0
  }

  /** Records whether a publication is what its path has now. */
  recordComparison(
    { id }: Publication,
    { revision, unchangedUntil }: Pick<Publication, 'revision' | 'unchangedUntil'>,
  ): void {
    const update = 'UPDATE publication SET revision = ?, unchanged_until = ? WHERE id = ?'
    this.#database.prepare(update).run(revision, textOf(unchangedUntil), id)
  }

  /** Hides a publication at once. Its rows stay until {@link remove}. */
  withdraw(userUuid: string, id: string): void {
    this.#durably(() =>
      this.#database.prepare('UPDATE publication SET published = NULL WHERE id = ?').run(id),
    )
    this.#bytes.delete(userUuid)
  }

  /** Hides all publications of a user. */
  withdrawAll(userUuid: string): void {
    this.#durably(() =>
      this.#database.prepare('UPDATE publication SET published = NULL WHERE user = ?').run(userUuid),
    )
    this.#bytes.delete(userUuid)
  }

  /** The ids of publications that are not visible: those that are being added, and those to remove. */
  hidden(userUuid: string | null): string[] {
    const select = 'SELECT id FROM publication WHERE published IS NULL AND user = coalesce(?, user)'
    return this.#rows(select, userUuid).map((row) => String(row.id))
  }

  /** Removes the rows of a publication that is not visible, some at a time. */
  async remove(id: string): Promise<void> {
    const row = this.#database.prepare('SELECT number FROM publication WHERE id = ?').get(id)
    if (row === undefined) return
    const some = `DELETE FROM block WHERE publication = ?1 AND cid IN (
      SELECT cid FROM block WHERE publication = ?1 LIMIT ${rowsAtOnce})`
    while (this.#database.prepare(some).run(Number(row.number)).changes > 0) await setImmediate()
    this.#database.prepare('DELETE FROM publication WHERE id = ?').run(id)
  }

  close(): void {
    this.#opened?.close()
    this.#opened = null
  }

  /** The rows that a query finds: none before anything was published. */
  #rows(select: string, ...parameters: SQLInputValue[]): Record<string, SQLOutputValue>[] {
    return this.isUsed ? this.#database.prepare(select).all(...parameters) : []
  }

  get #database(): DatabaseSync {
    this.#opened ??= open(this.#makeFile())
    return this.#opened
  }

  /** A publication of which somebody was told, and a withdrawal, survive a power loss. CIDs that are lost with a draft do no harm. */
  #durably(work: () => void): void {
    this.#database.exec('PRAGMA synchronous = FULL')
    try {
      change(work)
    } finally {
      this.#database.exec('PRAGMA synchronous = NORMAL')
    }
  }
}

/** Blocks that a draft gathers before it writes them to the database. */
export const blocksAtOnce: number = rowsAtOnce

function open(file: string): DatabaseSync {
  const connection = new DatabaseSync(file, { timeout: 5000, enableForeignKeyConstraints: true })
  try {
    connection.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON')
    connection.exec(tables)
    return connection
  } catch (error) {
    connection.close()
    throw error
  }
}

/** @throws NodekeepError INSUFFICIENT_STORAGE if the disk is full */
function change<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!isDiskFull(error)) throw error
    const message = 'The disk that holds the publications is full. Free some space and try again.'
    throw new NodekeepError('INSUFFICIENT_STORAGE', message, { cause: error })
  }
}

function publicationOf(row: Record<string, SQLOutputValue>): Publication {
  return {
    id: String(row.id),
    userUuid: String(row.user),
    path: String(row.path),
    revision: row.revision as string | null,
    unchangedUntil: row.unchanged_until === null ? null : JSON.parse(String(row.unchanged_until)),
    cid: String(row.cid),
    size: Number(row.size),
    files: Number(row.files),
    publishedAt: new Date(Number(row.published)),
  }
}

function textOf(position: ChangePosition | null): string | null {
  return position && JSON.stringify(position)
}
