import { closeSync, openSync, rmSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { NodekeepError } from '@nodekeep/plugin-sdk'
import { type DatabaseFile, findDatabases, isDiskFull } from '@nodekeep/plugin-sdk/data-folder'

/** One database of a snapshot. */

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

/** The bounds of snapshots. */
interface SnapshotLimits {
  /** Bytes by which the write-ahead log of a database may grow while a snapshot is held. */
  readonly walGrowth: number
  /** How often the growth is measured, in milliseconds. Running copies measure it themselves. */
  readonly checkEveryMs: number
}

const defaultLimits: SnapshotLimits = { walGrowth: 512 * 1024 * 1024, checkEveryMs: 1000 }

/** Pages that are copied in one step, in a thread of libuv's pool. Between steps the event loop runs. */
const pagesPerStep = 512

/** The snapshots of all databases of a node. */
export class DatabaseSnapshots {
  readonly #dataFolder: string
  readonly #limits: SnapshotLimits
  readonly #held = new Set<Snapshot>()
  /** Rises with each database that a plugin may have made. */
  #made = 0
  #closed = false

  constructor(dataFolder: string, limits: SnapshotLimits = defaultLimits) {
    this.#dataFolder = dataFolder
    this.#limits = limits
  }

  /**
   * Fixes the state of all databases: that of the kernel, and those of every plugin that were opened with `sqliteFile`, also of
   * plugins that are disabled. It takes about a millisecond for each, and stops no writer. The databases are fixed one
   * directly after the other; where they must agree, hold up the writes meanwhile.
   *
   * Release every snapshot.
   *
   * Rejects with NodekeepError SERVICE_UNAVAILABLE if a database is locked or damaged; the message names the file.
   */
  async snapshot(): Promise<DatabaseSnapshot> {
    return this.prepare().pin()
  }

  /** Call it when a plugin may have made a database. */
  noteMade(): void {
    this.#made += 1
  }

  /** Opens all databases, so that little is left to do at the moment. */
  prepare(): PreparedDatabases {
    this.#refuseWhenClosed()
    const opened = new OpenedDatabases(this.#dataFolder)
    const orClose = <T>(work: () => T): T => {
      try {
        return work()
      } catch (error) {
        opened.close()
        throw error
      }
    }
    const made = this.#made
    orClose(() => opened.open())
    const pin = () => {
      this.#refuseWhenClosed()
      if (this.#made !== made) opened.open()
      const snapshot = new Snapshot(opened.pin(), this.#limits, () => this.#held.delete(snapshot))
      this.#held.add(snapshot)
      return snapshot
    }
    return { pin: () => orClose(pin), release: () => opened.close() }
  }

  /** Gives up all snapshots, and waits for the end of running copies. */
  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([...this.#held].map((snapshot) => snapshot.giveUp('The node is stopping.')))
  }

  #refuseWhenClosed(): void {
    if (this.#closed) throw unavailable('The node is stopping.')
  }
}

/** Databases that are open and wait for their moment. */
interface PreparedDatabases {
  /** Does the same as `snapshot`, once. No other code of this thread runs meanwhile. */
  pin(): DatabaseSnapshot
  /** Closes the databases, unless they are pinned. */
  release(): void
}

/**
 * A read transaction on each database. In WAL mode its reader sees the same state for as long as it lasts, and stops no
 * writer. It also keeps the log from being emptied, so the log only grows meanwhile.
 */
class Snapshot implements DatabaseSnapshot {
  readonly databases: DatabaseSnapshot['databases']
  readonly #pinned: readonly PinnedDatabase[]
  readonly #limits: SnapshotLimits
  readonly #onRelease: () => void
  readonly #timer: NodeJS.Timeout
  readonly #ended = new AbortController()
  readonly #copies = new Set<Promise<void>>()
  #released: Promise<void> | undefined

  constructor(pinned: readonly PinnedDatabase[], limits: SnapshotLimits, onRelease: () => void) {
    this.#limits = limits
    this.#onRelease = onRelease
    this.#pinned = pinned
    this.databases = this.#pinned.map((pinned) => ({
      path: pinned.path,
      inBackups: pinned.inBackups,
      copyTo: (file, options = {}) => this.#copy(pinned, file, options.signal),
    }))
    this.#timer = setInterval(() => {
      for (const pinned of this.#pinned) this.#check(pinned)
    }, limits.checkEveryMs)
    this.#timer.unref()
  }

  get signal(): AbortSignal {
    return this.#ended.signal
  }

  release(): Promise<void> {
    return this.giveUp('The snapshot is released.')
  }

  giveUp(reason: string): Promise<void> {
    this.#ended.abort(unavailable(reason))
    this.#released ??= this.#close()
    return this.#released
  }

  async #close(): Promise<void> {
    clearInterval(this.#timer)
    // A connection must not be closed while a thread reads from it.
    await Promise.allSettled(this.#copies)
    for (const { connection } of this.#pinned) connection.close()
    this.#onRelease()
  }

  #check({ path, file, walAtMoment }: PinnedDatabase): void {
    if (this.signal.aborted || walSize(file) - walAtMoment <= this.#limits.walGrowth) return
    const mebibytes = Math.round(this.#limits.walGrowth / 1024 ** 2)
    void this.giveUp(
      `The copy of ${path} was given up: more than ${mebibytes} MiB were written to the database meanwhile. Try again when less is written.`,
    )
  }

  #copy(pinned: PinnedDatabase, file: string, signal: AbortSignal | undefined): Promise<void> {
    const stop = signal === undefined ? this.signal : AbortSignal.any([this.signal, signal])
    if (stop.aborted) return Promise.reject(stop.reason)
    const copy = copyDatabase(pinned.connection, file, () => {
      this.#check(pinned)
      stop.throwIfAborted()
    })
    this.#copies.add(copy)
    const forget = () => this.#copies.delete(copy)
    copy.then(forget, forget)
    return copy
  }
}

interface OpenedDatabase extends DatabaseFile {
  /** The absolute path. */
  readonly file: string
  readonly connection: DatabaseSync
}

interface PinnedDatabase extends OpenedDatabase {
  /** The size of its write-ahead log at the moment, in bytes. */
  readonly walAtMoment: number
}

/** The databases of a node, which are opened first, so that the moments of their states are as close together as possible. */
class OpenedDatabases {
  readonly #dataFolder: string
  /** By path. */
  readonly #opened = new Map<string, OpenedDatabase>()

  constructor(dataFolder: string) {
    this.#dataFolder = dataFolder
  }

  /** Opens those that are not open yet. */
  open(): void {
    for (const database of findDatabases(this.#dataFolder)) {
      const { path } = database
      if (this.#opened.has(path)) continue
      const file = join(this.#dataFolder, path)
      const connection = orExplain(path, () => openExisting(file))
      this.#opened.set(path, { ...database, file, connection })
      orExplain(path, () => read(connection))
    }
  }

  /** Fixes their states. They belong to the caller then. */
  pin(): PinnedDatabase[] {
    for (const [path, { connection }] of this.#opened) {
      orExplain(path, () => {
        connection.exec('BEGIN')
        read(connection)
      })
    }
    const pinned = [...this.#opened.values()]
    this.#opened.clear()
    return pinned.map((database) => ({ ...database, walAtMoment: walSize(database.file) }))
  }

  close(): void {
    for (const { connection } of this.#opened.values()) connection.close()
    this.#opened.clear()
  }
}

/** Runs work on a database. The error names the database. */
function orExplain<T>(path: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw unavailable(
      `The database ${path} cannot be read: ${(error as Error).message}. If another program uses it, stop that program. If it is damaged, restore a backup.`,
      error,
    )
  }
}

/** The first read opens the file and its log, and begins a transaction. */
function read(connection: DatabaseSync): void {
  connection.prepare('SELECT count(*) FROM sqlite_schema').get()
}

/**
 * The connection only reads. It could write because a database that was left by a crash, such as that of a disabled
 * plugin, must be recovered first.
 */
function openExisting(file: string): DatabaseSync {
  const existing = pathToFileURL(file)
  existing.search = 'mode=rw'
  return new DatabaseSync(existing, { timeout: 0 })
}

/** @param onStep called between steps; if it throws, the copy ends with what was thrown */
async function copyDatabase(source: DatabaseSync, file: string, onStep: () => void): Promise<void> {
  makeFile(file)
  try {
    await backup(source, file, { rate: pagesPerStep, progress: onStep })
    onStep()
    withoutLog(file)
  } catch (error) {
    for (const suffix of ['', '-journal', '-wal', '-shm']) rmSync(file + suffix, { force: true })
    if (!isDiskFull(error)) throw error
    throw new NodekeepError(
      'INSUFFICIENT_STORAGE',
      `The disk is full: ${basename(file)} cannot be written. Free some space and try again.`,
      { cause: error },
    )
  }
}

function makeFile(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    throw new NodekeepError('CONFLICT', `${basename(file)} exists. A copy never replaces a file.`, {
      cause: error,
    })
  }
}

/** The copy of a database in WAL mode would make a WAL as soon as somebody opens it. */
function withoutLog(file: string): void {
  const copy = new DatabaseSync(file)
  try {
    copy.exec('PRAGMA journal_mode = DELETE')
  } finally {
    copy.close()
  }
}

/** The size of a database's write-ahead log in bytes; 0 where there is none. It only asks for the size. */
function walSize(file: string): number {
  return statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0
}

function unavailable(message: string, cause?: unknown): NodekeepError {
  return new NodekeepError('SERVICE_UNAVAILABLE', message, { headers: { 'retry-after': '60' }, cause })
}
