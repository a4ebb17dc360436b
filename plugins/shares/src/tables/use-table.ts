import type { DatabaseSync } from 'node:sqlite'
import { type ChangePosition, inTransaction } from '@nodekeep/plugin-sdk'
import { openDatabase } from './open-database.ts'

/** Uses of a link that are kept. */
const mostUses = 200

/** Finished uploads of a link that are remembered, for guests who have lost the last answer. */
const mostFinished = 256

const hourMs = 60 * 60 * 1000

/**
 * - `uses`: the visits and downloads of a network within an hour are one row, and each upload is one. `at` is the last time, in
 *   milliseconds since 1970.
 * - `counts`: the sums of a link.
 * - `uploads`: uploads, also finished ones. `received` bytes are on the disk. `used` is when bytes arrived last, or when it has ended; 0 for a file of a
 *   form, with which no guest goes on.
 */
const tables = `
  CREATE TABLE uses (
    share TEXT NOT NULL,
    kind TEXT NOT NULL,
    network TEXT NOT NULL,
    hour INTEGER NOT NULL,
    at INTEGER NOT NULL,
    times INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    name TEXT,
    sender TEXT
  ) STRICT;
  CREATE INDEX uses_of_share ON uses (share, at);
  CREATE TABLE counts (
    share TEXT PRIMARY KEY,
    last INTEGER NOT NULL,
    visit INTEGER NOT NULL DEFAULT 0,
    download INTEGER NOT NULL DEFAULT 0,
    upload INTEGER NOT NULL DEFAULT 0,
    bytes INTEGER NOT NULL DEFAULT 0
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE uploads (
    id TEXT PRIMARY KEY,
    share TEXT NOT NULL,
    user TEXT NOT NULL,
    name TEXT NOT NULL,
    sender TEXT,
    network TEXT NOT NULL,
    length INTEGER NOT NULL,
    received INTEGER NOT NULL DEFAULT 0,
    used INTEGER NOT NULL
  ) STRICT;
`

/** `began` is the JSON of a position in the journal of files, behind which the file of an upload was written, if it was. */
const ends = `
  ALTER TABLE uploads ADD COLUMN began TEXT;
  ALTER TABLE uploads ADD COLUMN finished INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX uploads_of_share ON uploads (share);
`

/** A use of a link by a guest. */
interface Use {
  readonly kind: 'visit' | 'download' | 'upload'
  /** The network of the guest's address. */
  readonly network: string
  /** Bytes that were sent or received. */
  readonly bytes: number
  /** Whether it goes on with a former use, as a range of a file does that a player asks for. Then it counts its bytes alone. */
  readonly isContinued?: boolean
  /** The name of an uploaded file. */
  readonly name?: string
  /** The name that the guest gave. Nothing proves it. */
  readonly sender?: string
}

/** A use as it is kept. */
interface KeptUse extends Pick<Use, 'kind' | 'network' | 'bytes'> {
  readonly at: Date
  readonly times: number
  readonly name: string | null
  readonly sender: string | null
}

/** How often a link was used. */
interface UseCounts {
  readonly last: Date | null
  readonly visits: number
  readonly downloads: number
  readonly uploads: number
  readonly bytes: number
}

/** An upload of which all bytes may have arrived, but whose end is not recorded. */
export interface Upload {
  readonly id: string
  readonly share: string
  readonly userUuid: string
  readonly name: string
  readonly sender: string | null
  readonly network: string
  readonly length: number
  readonly received: number
  /** Where the journal of files was before the file was written; null if nothing began to write it. */
  readonly began: ChangePosition | null
}

/** The uses of all links, and the uploads. Backups leave them out. */
export class UseTable {
  readonly #database: DatabaseSync

  constructor(file: string) {
    this.#database = openDatabase(file, [tables, ends])
    // A power loss may take the last uses: one write to the disk for each download would be too many.
    this.#database.exec('PRAGMA synchronous = NORMAL')
  }

  close(): void {
    this.#database.close()
  }

  record(share: string, use: Use): void {
    inTransaction(this.#database, () => this.#record(share, use))
  }

  /** The last uses of a link, the newest first. */
  of(share: string): KeptUse[] {
    return this.#database
      .prepare('SELECT * FROM uses WHERE share = ? ORDER BY at DESC, rowid DESC')
      .all(share)
      .map((row) => ({
        kind: row.kind as Use['kind'],
        network: String(row.network),
        at: new Date(Number(row.at)),
        times: Number(row.times),
        bytes: Number(row.bytes),
        name: row.name === null ? null : String(row.name),
        sender: row.sender === null ? null : String(row.sender),
      }))
  }

  counts(share: string): UseCounts {
    const row = this.#database.prepare('SELECT * FROM counts WHERE share = ?').get(share)
    return {
      last: row === undefined ? null : new Date(Number(row.last)),
      visits: Number(row?.visit ?? 0),
      downloads: Number(row?.download ?? 0),
      uploads: Number(row?.upload ?? 0),
      bytes: Number(row?.bytes ?? 0),
    }
  }

  /** @param used 0 for a file of a form */
  addUpload(upload: Omit<Upload, 'began'>, used = Date.now()): void {
    const { id, share, userUuid: user, name, sender, network, length, received } = upload
    this.#database
      .prepare(
        `INSERT INTO uploads (id, share, user, name, sender, network, length, received, used)
         VALUES (:id, :share, :user, :name, :sender, :network, :length, :received, :used)`,
      )
      .run({ id, share, user, name, sender, network, length, received, used })
  }

  /** The uploads whose end is not recorded. */
  unfinished(): Upload[] {
    return this.#database.prepare('SELECT * FROM uploads WHERE finished = 0').all().map(uploadOf)
  }

  /** The bytes of a finished upload by a link; null if there is none that is remembered. */
  lengthOfFinished(share: string, id: string): number | null {
    const row = this.#database
      .prepare('SELECT length FROM uploads WHERE id = ? AND share = ? AND finished = 1')
      .get(id, share)
    return row === undefined ? null : Number(row.length)
  }

  /** Records how many bytes of an upload are on the disk. */
  setReceived(id: string, received: number): void {
    this.#database
      .prepare('UPDATE uploads SET received = ?, used = ? WHERE id = ?')
      .run(received, Date.now(), id)
  }

  /** Records that the file of an upload is written from now on. */
  beginEnd(id: string, position: ChangePosition): void {
    this.#durably(() =>
      this.#database.prepare('UPDATE uploads SET began = ? WHERE id = ?').run(JSON.stringify(position), id),
    )
  }

  /** Records that an upload has ended, with its use of the link. A second call does nothing. */
  finish({ id, share, network, length, name, sender }: Omit<Upload, 'received' | 'began'>): void {
    this.#durably(() => {
      const { changes } = this.#database
        .prepare('UPDATE uploads SET finished = 1, used = iif(used = 0, 0, ?) WHERE id = ? AND finished = 0')
        .run(Date.now(), id)
      if (Number(changes) === 0) return
      this.#database
        .prepare(
          `DELETE FROM uploads WHERE share = :share AND finished = 1 AND rowid NOT IN (
             SELECT rowid FROM uploads WHERE share = :share AND finished = 1
             ORDER BY used DESC, rowid DESC LIMIT ${mostFinished})`,
        )
        .run({ share })
      this.#record(share, {
        kind: 'upload',
        network,
        bytes: length,
        name,
        ...(sender !== null && { sender }),
      })
    })
  }

  removeUpload(id: string): void {
    this.#database.prepare('DELETE FROM uploads WHERE id = ?').run(id)
  }

  /** The ids of the unfinished uploads of which nothing arrived since a time. */
  uploadsUnusedSince(time: Date): string[] {
    return this.#database
      .prepare('SELECT id FROM uploads WHERE used < ? AND finished = 0')
      .all(time.getTime())
      .map(({ id }) => String(id))
  }

  /** Forgets the uploads that have ended before a time. */
  forgetFinished(before: Date): void {
    this.#database.prepare('DELETE FROM uploads WHERE used < ? AND finished = 1').run(before.getTime())
  }

  /** Forgets the uses of a link, and the uploads by it. */
  forget(share: string): void {
    this.#forget('share = ?', share)
  }

  /** Forgets the uses of all links but some, and the uploads by them. */
  forgetBut(shares: readonly string[]): void {
    this.#forget('share NOT IN (SELECT value FROM json_each(?))', JSON.stringify(shares))
  }

  #forget(condition: string, value: string): void {
    inTransaction(this.#database, () => {
      for (const table of ['uses', 'counts', 'uploads'])
        this.#database.prepare(`DELETE FROM ${table} WHERE ${condition}`).run(value)
    })
  }

  #record(share: string, use: Use): void {
    const { kind, network, bytes, isContinued = false, name, sender } = use
    const at = Date.now()
    const hour = Math.floor(at / hourMs)
    const times = Number(!isContinued)
    this.#database
      .prepare(
        `INSERT INTO counts (share, last, ${kind}, bytes) VALUES (:share, :at, :times, :bytes)
         ON CONFLICT DO UPDATE SET last = :at, ${kind} = ${kind} + :times, bytes = bytes + :bytes`,
      )
      .run({ share, at, times, bytes })
    const { changes } =
      kind === 'upload'
        ? { changes: 0 }
        : this.#database
            .prepare(
              `UPDATE uses SET at = :at, times = times + :times, bytes = bytes + :bytes
               WHERE share = :share AND kind = :kind AND network = :network AND hour = :hour`,
            )
            .run({ share, kind, network, hour, at, times, bytes })
    if (Number(changes) > 0) return
    this.#database
      .prepare(
        'INSERT INTO uses VALUES (:share, :kind, :network, :hour, :at, :times, :bytes, :name, :sender)',
      )
      .run({ share, kind, network, hour, at, times, bytes, name: name ?? null, sender: sender ?? null })
    this.#database
      .prepare(
        `DELETE FROM uses WHERE share = :share AND rowid NOT IN (
           SELECT rowid FROM uses WHERE share = :share ORDER BY at DESC, rowid DESC LIMIT ${mostUses})`,
      )
      .run({ share })
  }

  /** Makes a change in one transaction, which no power loss takes. */
  #durably(change: () => void): void {
    this.#database.exec('PRAGMA synchronous = FULL')
    try {
      inTransaction(this.#database, change)
    } finally {
      this.#database.exec('PRAGMA synchronous = NORMAL')
    }
  }
}

function uploadOf(row: Record<string, unknown>): Upload {
  return {
    id: String(row.id),
    share: String(row.share),
    userUuid: String(row.user),
    name: String(row.name),
    sender: row.sender === null ? null : String(row.sender),
    network: String(row.network),
    length: Number(row.length),
    received: Number(row.received),
    began: row.began === null ? null : (JSON.parse(String(row.began)) as ChangePosition),
  }
}
