import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { inTransaction } from '@nodekeep/plugin-sdk/data-folder'
import type { TextFormat } from '../inside/order.ts'
import { folded } from '../inside/words.ts'
import { formatOf, type Kind, kindOf } from '../kinds.ts'
import type { EntryState, FailureReason } from './entry-state.ts'

/** An entry of the index of files, as far as the search needs it. */
export interface LearnedEntry {
  readonly id: string
  readonly name: string
  readonly type: 'file' | 'directory'
  /** Bytes. */
  readonly size: number
  readonly revision: string | null
  /** Milliseconds since 1970. */
  readonly modified: number | null
  /** Hexadecimal. */
  readonly sha256: string | null
}

/** An entry, by its number and by its id in the index of files. */
interface NumberedEntry {
  readonly number: number
  readonly id: string
}

/** A file whose text is to be extracted. */
export interface WaitingFile extends NumberedEntry {
  /** Whether a content of the same size has failed. */
  readonly mayHaveFailed: boolean
}

/** The content of a file that was extracted, or could not be. */
export interface ExtractedFile extends NumberedEntry {
  /** The content: the text does not count if the file has another one now. */
  readonly content: Pick<LearnedEntry, 'size' | 'revision' | 'modified'>
  /** In UTF-8; null if there is none. */
  readonly text: Uint8Array | null
  /** Whether the text is kept. */
  readonly isKept: boolean
  readonly state: EntryState
  /** The content, if it fails again. */
  readonly failed: FailedContent | null
}

/** A content that has no text in a format. */
interface FailedContent {
  /** Hexadecimal. */
  readonly sha256: string
  readonly format: TextFormat
}

/** The place of a search in the order of the matches, after which its next page begins. */
export interface Position {
  readonly rank: number
  /** Of names: milliseconds before 1970. Of contents: the number below which those are that are ranked together; 0 for all. */
  readonly age: number
  readonly number: number
}

/** Before all matches. */
export const beginning: Position = { rank: -Number.MAX_VALUE, age: 0, number: 0 }

/** An entry that matches. It may be gone. */
export interface FoundEntry extends Position {
  readonly id: string
}

/** A part of the matches, and where the next one begins; null after the last one. */
interface FoundPage {
  readonly rows: readonly FoundEntry[]
  readonly next: Position | null
}

/** A part of the matches to look for. */
interface FindPage {
  /** Of this type only; null for all. */
  readonly kind: Kind | null
  readonly after: Position
  readonly limit: number
}

/** The state of the search for a user. */
export interface IndexCounts {
  /** Files whose text is still to be extracted. */
  readonly waiting: number
  /** Files that can be found by their words. */
  readonly indexed: number
  readonly failed: Partial<Record<FailureReason, number>>
  /** Bytes of the database. */
  readonly bytes: number
}

/** Where the index of files was followed to. */
interface Followed {
  readonly cursor: string
  /** When everything was looked at last, in milliseconds since 1970. */
  readonly swept: number
  /** Entries that were forgotten. */
  readonly lost: number
}

/** Matches of contents that are ranked together. */
const rankedTogether = 2000

interface Row {
  readonly number: number
  readonly kind: Kind
  readonly folded: string
  readonly size: number
  readonly revision: string | null
  readonly modified: number | null
  readonly state: EntryState
}

/** The index of a user, in the thread of the databases. Each call is one transaction. */
export class UserIndex {
  readonly #connection: DatabaseSync
  readonly #maxFileSize: number
  readonly #statements = new Map<string, StatementSync>()

  constructor(connection: DatabaseSync, maxFileSize: number) {
    this.#connection = connection
    this.#maxFileSize = maxFileSize
  }

  close(): void {
    this.#connection.close()
  }

  followed(): Followed {
    return this.#sql('SELECT cursor, swept, lost FROM followed').get() as unknown as Followed
  }

  /**
   * Takes entries that are new or have changed.
   *
   * @param from the cursor from which they were read; null if the cursor stays as it is
   * @returns whether they were taken: not if the cursor is another one by now
   */
  learn(entries: readonly LearnedEntry[], from: string | null, cursor: string): boolean {
    return this.#transaction(() => {
      const { cursor: now, lost } = this.followed()
      if (from !== null && from !== now) return false
      let mustSweep = false
      for (const entry of entries) {
        const isKnownFolder = this.#learn(entry)
        mustSweep ||= isKnownFolder && lost > this.#recovered()
      }
      if (from === null) return true
      this.#run('UPDATE followed SET cursor = ?', cursor)
      // It may have come back from the trash, with files that were forgotten.
      if (mustSweep) this.#run('UPDATE followed SET swept = 0')
      return true
    })
  }

  /** Removes entries that are gone. */
  forget(ids: readonly string[]): void {
    this.#transaction(() => {
      for (const id of ids) {
        const row = this.#rowOf(id)
        if (row === undefined) continue
        if (row.kind === 'folder')
          this.#run("UPDATE entries SET is_gone = 1, folded = '' WHERE number = ?", row.number)
        else {
          this.#removeText(row)
          this.#run('DELETE FROM entries WHERE number = ?', row.number)
        }
      }
      this.#run('UPDATE followed SET lost = lost + ?', ids.length)
    })
  }

  /** The first entries after a number. */
  page(after: number, limit: number): NumberedEntry[] {
    const sql = 'SELECT number, id FROM entries WHERE number > ? AND is_gone = 0 ORDER BY number LIMIT ?'
    return this.#sql(sql).all(after, limit) as unknown as NumberedEntry[]
  }

  /**
   * Ends a sweep.
   *
   * @param began when it began, in milliseconds since 1970
   * @param lost the entries that were forgotten before it
   */
  swept(began: number, lost: number): void {
    this.#run('UPDATE followed SET swept = ?, recovered = ?', began, lost)
  }

  /** Files whose text is to be extracted, the newest first. */
  waiting(limit: number): WaitingFile[] {
    const sql = `SELECT number, id, EXISTS (SELECT 1 FROM failures WHERE failures.size = entries.size) AS failed
      FROM entries WHERE state = 'waiting' ORDER BY number DESC LIMIT ?`
    const rows = this.#sql(sql).all(limit)
    return rows.map(({ number, id, failed }) => ({
      number: Number(number),
      id: String(id),
      mayHaveFailed: failed === 1,
    }))
  }

  /** Lets files wait again that could not be read, or that were too large for the configuration before. */
  retry(): void {
    const sql = `UPDATE entries SET state = 'waiting' WHERE state = 'unreadable' OR state = 'too-large' AND size <= ?`
    this.#run(sql, this.#maxFileSize)
  }

  /** The state of files with a content that was tried and has no text; null if it was not. */
  failure({ sha256, format }: FailedContent): EntryState | null {
    const row = this.#sql('SELECT state FROM failures WHERE sha256 = ? AND format = ?').get(sha256, format)
    return (row?.state as EntryState | undefined) ?? null
  }

  /** Takes the texts of files. */
  store(files: readonly ExtractedFile[]): void {
    this.#transaction(() => {
      for (const file of files) this.#store(file)
    })
  }

  /** The kept text of a file, in UTF-8; null if it is not kept. */
  text(number: number): Uint8Array | null {
    const row = this.#sql('SELECT text FROM kept_texts WHERE number = ?').get(number)
    return row === undefined ? null : zstdDecompressSync(row.text as Uint8Array)
  }

  /** Entries with all parts in their names: first those whose names begin with the first part, then the newest first. */
  names(parts: readonly string[], { kind, after, limit }: FindPage): FoundPage {
    const all = parts.map(() => 'AND instr(folded, ?)').join(' ')
    const sql = `SELECT rank, age, number, id FROM
      (SELECT instr(folded, ?) <> 1 AS rank, -ifnull(modified, 0) AS age, number, id FROM entries
       WHERE is_gone = 0 AND ifnull(kind = ?, 1) ${all})
      WHERE (rank, age, number) > (?, ?, ?) ORDER BY rank, age, number LIMIT ?`
    const place = [after.rank, after.age, after.number] as const
    const first = parts[0] ?? ''
    const rows = this.#sql(sql).all(first, kind, ...parts, ...place, limit) as unknown as FoundEntry[]
    return { rows, next: rows.length < limit ? null : (rows.at(-1) ?? null) }
  }

  /**
   * Files with words in them: of very many, those that came last are ranked and come first. To rank all files with a frequent word would take seconds.
   */
  contents(expression: string, { kind, after, limit }: FindPage): FoundPage {
    const below = after.age === 0 ? Number.MAX_SAFE_INTEGER : after.age
    const sql = `SELECT texts.rank AS rank, number, id FROM texts JOIN entries ON number = texts.rowid
      WHERE texts MATCH ? AND texts.rowid < ? AND ifnull(kind = ?, 1) ORDER BY texts.rowid DESC LIMIT ${rankedTogether}`
    const ranked = this.#sql(sql).all(expression, below, kind) as unknown as Omit<FoundEntry, 'age'>[]
    const last = ranked.at(-1)
    const left = ranked
      .filter(({ rank, number }) => rank > after.rank || (rank === after.rank && number > after.number))
      .sort((a, b) => a.rank - b.rank || a.number - b.number)
    const rows = left.slice(0, limit).map((row) => ({ ...row, age: after.age }))
    if (left.length > limit) return { rows, next: rows.at(-1) ?? null }
    const isEnd = last === undefined || ranked.length < rankedTogether
    return { rows, next: isEnd ? null : { ...beginning, age: last.number } }
  }

  counts(): IndexCounts {
    const failed: Partial<Record<EntryState, number>> = {}
    for (const { state, count } of this.#sql(
      'SELECT state, count(*) AS count FROM entries GROUP BY state',
    ).all())
      failed[state as EntryState] = Number(count)
    const { none: _, waiting = 0, indexed = 0, ...others } = failed
    const { bytes } = this.#sql(
      'SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size',
    ).get() as {
      bytes: number
    }
    return { waiting, indexed, failed: others, bytes }
  }

  /** Files whose text is still to be extracted. */
  countWaiting(): number {
    const sql = "SELECT count(*) AS count FROM entries WHERE state = 'waiting'"
    return Number(this.#sql(sql).get()?.count)
  }

  /** @returns whether it is a folder that is known */
  #learn(entry: LearnedEntry): boolean {
    const { id, name, size, revision, modified } = entry
    const row = this.#rowOf(id)
    const facts = [folded(name), kindOf(entry), size, revision, modified] as const
    if (row === undefined) {
      const sql =
        'INSERT INTO entries (folded, kind, size, revision, modified, id, state) VALUES (?, ?, ?, ?, ?, ?, ?)'
      this.#run(sql, ...facts, id, this.#stateOf(entry))
      return false
    }
    const isSame =
      isSameContent(row, entry) && formatOf({ name: row.folded, size: row.size }) === formatOf(entry)
    if (!isSame) this.#removeText(row)
    const state = isSame && row.state !== 'unreadable' ? row.state : this.#stateOf(entry)
    const sql =
      'UPDATE entries SET folded = ?, kind = ?, size = ?, revision = ?, modified = ?, state = ?, is_gone = 0 WHERE number = ?'
    this.#run(sql, ...facts, state, row.number)
    return row.kind === 'folder'
  }

  #stateOf({ name, type, size, sha256 }: LearnedEntry): EntryState {
    const format = formatOf({ name, size })
    if (type === 'directory' || size === 0 || format === null) return 'none'
    if (size > this.#maxFileSize) return 'too-large'
    return (sha256 === null ? null : this.failure({ sha256, format })) ?? 'waiting'
  }

  #store({ number, id, content, text, isKept, state, failed }: ExtractedFile): void {
    if (failed !== null)
      this.#run(
        'INSERT OR REPLACE INTO failures VALUES (?, ?, ?, ?)',
        failed.sha256,
        failed.format,
        content.size,
        state,
      )
    const row = this.#rowOf(id)
    if (row?.number !== number || row.state !== 'waiting' || !isSameContent(row, content)) return
    this.#run(
      'UPDATE entries SET state = ?, revision = ?, modified = ? WHERE number = ?',
      state,
      content.revision,
      content.modified,
      number,
    )
    if (text === null) return
    const { buffer, byteOffset, length } = text
    const words = Buffer.from(buffer, byteOffset, length).toString()
    this.#run('INSERT INTO texts (rowid, text) VALUES (?, ?)', number, words)
    if (isKept) this.#run('INSERT INTO kept_texts VALUES (?, ?)', number, zstdCompressSync(text))
  }

  #removeText({ number, state }: Row): void {
    if (state !== 'indexed') return
    this.#run('DELETE FROM texts WHERE rowid = ?', number)
    this.#run('DELETE FROM kept_texts WHERE number = ?', number)
  }

  #rowOf(id: string): Row | undefined {
    const sql = 'SELECT number, folded, kind, size, revision, modified, state FROM entries WHERE id = ?'
    return this.#sql(sql).get(id) as Row | undefined
  }

  #recovered(): number {
    return Number(this.#sql('SELECT recovered FROM followed').get()?.recovered)
  }

  #transaction<T>(work: () => T): T {
    return inTransaction(this.#connection, work)
  }

  /** Changes rows. `run` tells the number of the row that was written last: FTS5 writes some with numbers above 2^53 for removed texts. */
  #run(text: string, ...values: readonly SQLInputValue[]): void {
    const statement = this.#sql(text)
    statement.setReadBigInts(true)
    statement.run(...values)
  }

  #sql(text: string): StatementSync {
    const known = this.#statements.get(text) ?? this.#connection.prepare(text)
    this.#statements.set(text, known)
    return known
  }
}

type Content = Pick<LearnedEntry, 'size' | 'revision' | 'modified'>

/** Whether a file has the content that it had. Its revision may not be known: then size and time tell. */
function isSameContent(before: Content, now: Content): boolean {
  if (before.revision !== null && now.revision !== null) return before.revision === now.revision
  return before.size === now.size && before.modified === now.modified
}
