/**
 * The tables of the index: all entries of all users, as far as they are known. They are part of the journal's file, so that a change and
 * its entries are written in one transaction.
 *
 * `storages`: the id of the stored files that a backend has now, by the name of the backend; empty if the backend tells none.
 * `trees`: the files of a user on a storage. The tree of a disk that is not mounted stays until it is back. A tree that is not complete
 * may lack entries, or have some that are gone. `compared`: when all of it was compared with the storage last.
 * `entries`: a folder has as `size` and `below` the bytes and the number of all entries below it. As a real number, a sum of sparse files
 * cannot overflow; it is exact up to 2^53. `parent` is null for the root of a
 * tree, and 0 for an entry that is removed but still has entries below it. `revision`, `modified` and `sha256` are null for a folder, and
 * for a file where they are not known. `created` is set where the storage does not know when the file was created. `listed` is the state
 * of the file by a listing without revisions. `stamp` rises with each change of an entry; `index_state` has the highest one, and names
 * the index.
 * Times are milliseconds since 1970. Ids are never used again, also not by a new index: they begin at a random number.
 */
export const entryTables = `
  CREATE TABLE index_state (id TEXT NOT NULL, stamp INTEGER NOT NULL) STRICT;
  INSERT INTO index_state VALUES (lower(hex(randomblob(8))), 0);
  CREATE TABLE storages (name TEXT PRIMARY KEY, id TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE trees (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    user TEXT NOT NULL,
    storage TEXT NOT NULL,
    storage_id TEXT NOT NULL,
    root INTEGER NOT NULL,
    complete INTEGER NOT NULL,
    compared INTEGER NOT NULL,
    UNIQUE (user, storage, storage_id)
  ) STRICT;
  CREATE TABLE entries (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    tree INTEGER NOT NULL,
    parent INTEGER,
    name TEXT NOT NULL,
    type TEXT NOT NULL,
    size REAL NOT NULL,
    below INTEGER NOT NULL,
    revision TEXT,
    modified INTEGER,
    created INTEGER,
    sha256 BLOB,
    listed TEXT,
    stamp INTEGER NOT NULL,
    UNIQUE (parent, name)
  ) STRICT;
  CREATE INDEX changed_entries ON entries (tree, stamp);
  CREATE INDEX entry_revisions ON entries (revision) WHERE revision IS NOT NULL;
  CREATE INDEX entry_contents ON entries (sha256) WHERE sha256 IS NOT NULL;
  CREATE INDEX created_entries ON entries (parent) WHERE created IS NOT NULL;
  INSERT INTO sqlite_sequence (name, seq) VALUES ('entries', abs(random() % 1000000000000000) + 1000000000);
`

/**
 * The additions of version 10. `kept_root` of a tree is the entry of the folder of its kept files, and 0 if it has none. Its parent
 * is -1, so that what is below has no path. The entries in it have their kept names.
 *
 * `kept_entries`: each of the entries in such a folder. `number` names it, and orders all of them by the time at which they were kept. `of`
 * is the id of the file of which it is a former version; null for an item of the trash. `path` is the path that it had; `maker` and
 * `change_group` are those of the change that deleted or replaced it. `is_handover` is 1 for a version that another maker replaced than
 * the version before it. Times are milliseconds since 1970. Numbers are never used again, also not by a new index.
 */
export const keptTables = `
  ALTER TABLE trees ADD COLUMN kept_root INTEGER NOT NULL DEFAULT 0;
  CREATE TABLE kept_entries (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    entry INTEGER NOT NULL UNIQUE,
    of INTEGER,
    user TEXT NOT NULL,
    path TEXT NOT NULL,
    at INTEGER NOT NULL,
    maker TEXT,
    change_group TEXT,
    is_handover INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX kept_of_users ON kept_entries (user, number);
  CREATE INDEX trash_items ON kept_entries (user, number) WHERE of IS NULL;
  CREATE INDEX trash_times ON kept_entries (at, number) WHERE of IS NULL;
  CREATE INDEX file_versions ON kept_entries (of, number) WHERE of IS NOT NULL;
  CREATE TRIGGER kept_entries_deleted AFTER DELETE ON entries BEGIN
    DELETE FROM kept_entries WHERE entry = old.id;
  END;
  INSERT INTO sqlite_sequence (name, seq) VALUES ('kept_entries', abs(random() % 1000000000000000) + 1000000000);
`

/** The parent of the folders of kept files. */
export const keptRoots = -1

/** The parent of removed entries that still have entries below them. */
export const removed = 0

/** The mounts of the users: paths and names of storages, longest path first. */
export type IndexedMounts = readonly (readonly [point: string, storage: string])[]

/** A path of a user, as the index has it. */
interface IndexPath {
  readonly storage: string
  /** The names from the root of the storage on. */
  readonly names: readonly string[]
}

/** Finds the storage of a user's path. */
export function indexPath(mounts: IndexedMounts, path: string): IndexPath {
  for (const [point, storage] of mounts) {
    const start = point === '/' ? 0 : point.length
    if (path === point) return { storage, names: [] }
    if (start === 0 || (path.startsWith(point) && path[start] === '/'))
      return { storage, names: path.slice(start + 1).split('/') }
  }
  throw new Error(`Nothing is mounted at "${path}".`)
}
