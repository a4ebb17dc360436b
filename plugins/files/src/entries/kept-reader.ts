import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { ChangeMaker } from '@nodekeep/plugin-sdk'
import type { KnownEntry } from './known-entry.ts'

/** A kept entry of a user on a storage: an item of the trash, or a former version of a file. */
export interface KeptEntry {
  /** Names it among all. Later ones have higher numbers. */
  readonly number: number
  readonly user: string
  /** The name of the backend that has it. */
  readonly storage: string
  /** The entry of the index. Its name is the kept name. */
  readonly entry: KnownEntry
  /** The id of the file of which it is a version; null for an item of the trash. */
  readonly of: number | null
  /** The path that it had when it was deleted or replaced. */
  readonly path: string
  /** When it was deleted or replaced, in milliseconds since 1970. */
  readonly at: number
  /** The one who deleted or replaced it; null where that is not known. */
  readonly maker: ChangeMaker | null
  readonly group: string | null
  /** Whether another maker replaced this version than the one before it. Also true of the first one. */
  readonly isHandover: boolean
}

/** A version, as the pages of all versions have it. */
export interface VersionOfFile extends KeptEntry {
  readonly of: number
  /** Whether its file is gone for good. */
  readonly isOrphan: boolean
}

/** The room that items of the trash take. */
interface ItemSums {
  /** The id of the folder of kept files. */
  readonly root: number
  readonly bytes: number
  readonly items: number
  /** The number of the oldest one. */
  readonly last: number
}

/** The room that the files of a user take on a storage, and that of those that are kept. */
interface KeptSums {
  readonly storage: string
  readonly bytes: number
  readonly entries: number
  /** The id of the folder of those that are kept; 0 if there is none. */
  readonly keptRoot: number
  readonly keptBytes: number
  readonly keptEntries: number
  /** Whether the index has all of them. */
  readonly isComplete: boolean
}

type Row = Omit<KeptEntry, 'entry' | 'maker' | 'isHandover'> &
  KnownEntry & { readonly maker: string | null; readonly is_handover: number }

const columns = `k.number, k.user, t.storage, k.of, k.path, k.at, k.maker, k.change_group AS "group", k.is_handover, e.id, e.name, e.type,
  e.size, e.below, e.revision, e.modified, e.created, iif(e.sha256 IS NULL, NULL, lower(hex(e.sha256))) AS sha256, e.listed`

/** Those of trees whose storage has these files now. The order of the joins is that of the kept entries. */
const joined = `CROSS JOIN entries e ON e.id = k.entry CROSS JOIN trees t ON t.id = e.tree AND t.kept_root = e.parent
  CROSS JOIN storages s ON s.name = t.storage AND s.id = t.storage_id`

/** Reads the kept entries of the index. Those on a storage that has other files now are left out. */
export class KeptReader {
  readonly #trash: StatementSync
  readonly #trashBytes: StatementSync
  readonly #entry: StatementSync
  readonly #named: StatementSync
  readonly #versions: StatementSync
  readonly #allVersions: StatementSync
  readonly #expired: StatementSync
  readonly #oldest: StatementSync
  readonly #sums: StatementSync
  readonly #users: StatementSync

  constructor(connection: DatabaseSync) {
    const from = `SELECT ${columns} FROM kept_entries k ${joined}`
    this.#trash = connection.prepare(
      `${from} WHERE k.user = ? AND k.of IS NULL AND k.number < ? ORDER BY k.number DESC LIMIT ?`,
    )
    // Rows would take three times as long.
    this.#trashBytes = connection.prepare(
      `SELECT parent, total(size) AS bytes, count(*) AS items, min(number) AS last FROM
       (SELECT k.number, e.parent, e.size FROM kept_entries k CROSS JOIN entries e ON e.id = k.entry
        WHERE k.user = ? AND k.of IS NULL AND k.number < ? ORDER BY k.number DESC LIMIT ?) GROUP BY parent`,
    )
    this.#entry = connection.prepare(`${from} WHERE k.number = ? AND k.user = ?`)
    this.#named = connection.prepare(
      `SELECT ${columns} FROM trees t JOIN storages s ON s.name = t.storage AND s.id = t.storage_id
       JOIN entries e ON e.parent = t.kept_root AND e.name = ? JOIN kept_entries k ON k.entry = e.id
       WHERE t.user = ? AND t.kept_root <> 0`,
    )
    this.#versions = connection.prepare(
      `${from} WHERE k.of = ? AND k.user = ? AND k.number < ? ORDER BY k.number DESC LIMIT ?`,
    )
    // An entry that waits to be swept still counts as one that is there.
    this.#allVersions = connection.prepare(
      `SELECT ${columns}, f.id IS NULL AS orphan FROM kept_entries k ${joined} LEFT JOIN entries f ON f.id = k.of
       WHERE k.of IS NOT NULL AND (k.of, k.number) > (?, ?) ORDER BY k.of, k.number LIMIT ?`,
    )
    this.#expired = connection.prepare(
      `${from} WHERE k.of IS NULL AND k.at < ? AND (k.at, k.number) > (?, ?) ORDER BY k.at, k.number LIMIT ?`,
    )
    this.#oldest = connection.prepare(`${from} WHERE k.user = ? AND k.number > ? ORDER BY k.number LIMIT ?`)
    this.#sums = connection.prepare(
      `SELECT t.storage, t.complete, t.kept_root, f.size, f.below, k.size AS kept_size, k.below AS kept_below FROM trees t
       JOIN storages s ON s.name = t.storage AND s.id = t.storage_id
       JOIN entries f ON f.id = t.root LEFT JOIN entries k ON k.id = t.kept_root WHERE t.user = ?`,
    )
    this.#users = connection.prepare(
      `SELECT DISTINCT t.user FROM trees t JOIN storages s ON s.name = t.storage AND s.id = t.storage_id
       JOIN entries e ON e.id = t.kept_root WHERE e.below > 0`,
    )
  }

  /** A user's items of the trash before a number, the newest first. */
  trash(user: string, limit: number, before = Number.MAX_SAFE_INTEGER): KeptEntry[] {
    return this.#trash.all(user, before, limit).map(keptOf)
  }

  /** The room of a user's newest items of the trash before a number, by the roots of the kept files that they are in. */
  trashBytes(user: string, limit: number, before: number): ItemSums[] {
    return this.#trashBytes.all(user, before, limit).map(({ parent, bytes, items, last }) => ({
      root: Number(parent),
      bytes: Number(bytes),
      items: Number(items),
      last: Number(last),
    }))
  }

  /** An item of the trash or a version of a user; null if it is not kept. */
  get(user: string, number: number): KeptEntry | null {
    const row = this.#entry.get(number, user)
    return row === undefined ? null : keptOf(row)
  }

  /** An item of the trash or a version by its kept name; null if it is not kept. */
  named(user: string, name: string): KeptEntry | null {
    const row = this.#named.get(name, user)
    return row === undefined ? null : keptOf(row)
  }

  /** A user's versions of a file before a number, the newest first. */
  versions(user: string, file: number, limit: number, before = Number.MAX_SAFE_INTEGER): KeptEntry[] {
    return this.#versions.all(file, user, before, limit).map(keptOf)
  }

  /** The versions of all files of all users after one, by the id of the file and their number. */
  versionsAfter({ of, number }: { readonly of: number; readonly number: number }, limit: number) {
    return this.#allVersions.all(of, number, limit).map((row): VersionOfFile => {
      return { ...keptOf(row), of: Number(row.of), isOrphan: row.orphan === 1 }
    })
  }

  /**
   * The items of the trash of all users that were deleted before a time, after one of them, by time and number.
   *
   * @param time milliseconds since 1970
   */
  deletedBefore(
    time: number,
    after: { readonly at: number; readonly number: number },
    limit: number,
  ): KeptEntry[] {
    return this.#expired.all(time, after.at, after.number, limit).map(keptOf)
  }

  /** A user's items of the trash and versions after a number, the oldest first. */
  oldest(user: string, after: number, limit: number): KeptEntry[] {
    return this.#oldest.all(user, after, limit).map(keptOf)
  }

  /** The room that the files of a user take on each storage. */
  sums(user: string): KeptSums[] {
    return this.#sums
      .all(user)
      .map(({ storage, complete, size, below, kept_root, kept_size, kept_below }) => ({
        storage: String(storage),
        bytes: Number(size),
        entries: Number(below),
        keptRoot: Number(kept_root),
        keptBytes: Number(kept_size ?? 0),
        keptEntries: Number(kept_below ?? 0),
        isComplete: complete === 1,
      }))
  }

  /** The users of whom something is kept. */
  users(): string[] {
    return this.#users.all().map(({ user }) => String(user))
  }
}

function keptOf(row: Record<string, unknown>): KeptEntry {
  const { number, user, storage, of, path, at, maker, group, is_handover, ...columns } = row as unknown as Row
  const { id, name, type, size, below, revision, modified, created, sha256, listed } = columns
  return {
    number,
    user,
    storage,
    entry: { id, name, type, size, below, revision, modified, created, sha256, listed },
    of,
    path,
    at,
    maker: maker === null ? null : (JSON.parse(maker) as ChangeMaker),
    group,
    isHandover: is_handover === 1,
  }
}
