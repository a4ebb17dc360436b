import { defineService } from '../service.ts'

/** One database of a snapshot. */
export interface SnapshotDatabase {
  /** The file, relative to the node's data folder and `/`-separated: `state.sqlite`, `plugins/notes/index.sqlite`. */
  readonly path: string
  /** False if its plugin opened it with `inBackups: false`. The copies of an update include it all the same. */
  readonly inBackups: boolean
  /**
   * Writes the database as it was at the moment of the snapshot into a new file: one file without a WAL, which only the
   * node's account can read, and which is on the disk when this resolves. The folder's own entry may need a sync. While it
   * runs, the event loop is free, and others write to the database. A call that rejects leaves no file.
   *
   * Rejects with NodekeepError CONFLICT if the file exists, INSUFFICIENT_STORAGE if the disk of the copy is full, and
   * SERVICE_UNAVAILABLE if the snapshot was given up; with the reason of the signal if it aborts.
   */
  copyTo(file: string, options?: { readonly signal?: AbortSignal }): Promise<void>
}

/** The state of all databases at one moment. */
export interface DatabaseSnapshot {
  readonly databases: readonly SnapshotDatabase[]
  /**
   * Aborts when the snapshot is given up: while a snapshot is held, the write-ahead log (WAL) of each database grows with
   * every write. The node gives a snapshot up when one of them has grown by more than 512 MiB, or when the node stops.
   */
  readonly signal: AbortSignal
  /** Ends running copies, and lets the write-ahead logs shrink again. A second call waits for the first. */
  release(): Promise<void>
}

/** Copies the databases of the node and of its plugins while they are in use. */
export interface NodeDatabases {
  /**
   * Fixes the state of all databases: that of the kernel, and those of every plugin that were opened with `sqliteFile`, also of
   * plugins that are disabled. It takes about a millisecond for each, and stops no writer. The databases are fixed one
   * directly after the other; where they must agree, hold up the writes meanwhile.
   *
   * Release every snapshot.
   *
   * Rejects with NodekeepError SERVICE_UNAVAILABLE if a database is locked or damaged; the message names the file.
   */
  snapshot(): Promise<DatabaseSnapshot>
}

/** The kernel's service that copies the databases of the node. */
export const Databases = defineService<NodeDatabases>('node-databases', 1)
