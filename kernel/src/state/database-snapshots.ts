import { rmSync, statSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { NodekeepError } from '@nodekeep/plugin-sdk'
import { findDatabases, isDiskFull } from '@nodekeep/plugin-sdk/data-folder'

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
  readonly #held = new Set<DatabaseSnapshot>()
  #closed = false

  constructor(dataFolder: string, limits: SnapshotLimits = defaultLimits) {
    this.#dataFolder = dataFolder
    this.#limits = limits
  }

  /**
   * Opens all databases that belong into backups, so that little is left to do when their states are fixed: that of the kernel, and
   * those of every plugin that were opened with `sqliteFile`, also of plugins that are disabled. Release the snapshot in any case.
   *
   * @throws NodekeepError SERVICE_UNAVAILABLE if a database is locked or damaged; the message names the file
   */
  prepare(): DatabaseSnapshot {
    if (this.#closed) throw unavailable('The node is stopping.')
    const snapshot = new DatabaseSnapshot(this.#dataFolder, this.#limits, () => this.#held.delete(snapshot))
    this.#held.add(snapshot)
    return snapshot
  }

  /** Gives up all snapshots, and waits for the end of running copies. */
  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([...this.#held].map((snapshot) => snapshot.release('The node is stopping.')))
  }
}

interface OpenedDatabase {
  /** The absolute path. */
  readonly file: string
  readonly connection: DatabaseSync
  /** The size of its write-ahead log when its state was fixed, in bytes. */
  walWhenPinned: number
}

/**
 * The state of all databases at one moment: a read transaction on each. In WAL mode its reader sees the same state for as long as it
 * lasts, and stops no writer. It also keeps the log from being emptied, so the log only grows meanwhile. The snapshot is given up
 * when the log of a database has grown by more than 512 MiB, or when the node stops.
 */
export class DatabaseSnapshot {
  readonly #dataFolder: string
  readonly #limits: SnapshotLimits
  readonly #onRelease: () => void
  /** By path, relative to the node's data folder and `/`-separated: `state.sqlite`, `plugins/notes/index.sqlite`. */
  readonly #databases = new Map<string, OpenedDatabase>()
  readonly #ended = new AbortController()
  readonly #copies = new Set<Promise<void>>()
  #timer: NodeJS.Timeout | undefined
  #released: Promise<void> | undefined

  /** Opens the databases, as {@link DatabaseSnapshots.prepare} does. */
  constructor(dataFolder: string, limits: SnapshotLimits, onRelease: () => void) {
    this.#dataFolder = dataFolder
    this.#limits = limits
    this.#onRelease = onRelease
    try {
      this.#open()
    } catch (error) {
      this.#closeConnections()
      throw error
    }
  }

  /**
   * Fixes the states of all databases, also of those that were made meanwhile. It takes about a millisecond for each, and stops no
   * writer. The databases are fixed one directly after the other; where they must agree, hold up the writes meanwhile. Call it once.
   *
   * @throws NodekeepError SERVICE_UNAVAILABLE as {@link DatabaseSnapshots.prepare}, or if the snapshot was given up or released
   */
  pin(): void {
    this.signal.throwIfAborted()
    this.#open()
    for (const [path, database] of this.#databases) {
      const { file, connection } = database
      orExplain(path, () => {
        connection.exec('BEGIN')
        read(connection)
      })
      database.walWhenPinned = walSize(file)
    }
    this.#timer = setInterval(() => this.#check(), this.#limits.checkEveryMs).unref()
  }

  /** The files, relative to the node's data folder. */
  get paths(): string[] {
    return [...this.#databases.keys()]
  }

  /** Aborts when the snapshot is given up or released. */
  get signal(): AbortSignal {
    return this.#ended.signal
  }

  /**
   * Writes a database as it was at the moment of the snapshot into a new file: one file without a WAL, which only the node's account
   * can read, and which is on the disk when this resolves. The folder's own entry may need a sync. While it runs, the event loop is
   * free, and others write to the database. A call that rejects leaves no file.
   *
   * Rejects with NodekeepError INSUFFICIENT_STORAGE if the disk of the copy is full, and SERVICE_UNAVAILABLE if the snapshot was
   * given up or released.
   */
  async copyTo(path: string, file: string): Promise<void> {
    this.signal.throwIfAborted()
    const connection = this.#databases.get(path)?.connection
    if (connection === undefined) throw new Error(`There is no database ${path}.`)
    const copy = copyDatabase(connection, file, () => {
      this.#check()
      this.signal.throwIfAborted()
    })
    this.#copies.add(copy)
    return copy.finally(() => this.#copies.delete(copy))
  }

  /** Ends running copies, and lets the write-ahead logs shrink again. A second call waits for the first. */
  release(reason = 'The snapshot is released.'): Promise<void> {
    this.#ended.abort(unavailable(reason))
    this.#released ??= this.#close()
    return this.#released
  }

  async #close(): Promise<void> {
    clearInterval(this.#timer)
    // A connection must not be closed while a thread reads from it.
    await Promise.allSettled(this.#copies)
    this.#closeConnections()
    this.#onRelease()
  }

  #closeConnections(): void {
    for (const { connection } of this.#databases.values()) connection.close()
  }

  /** Opens the databases that are not open yet. */
  #open(): void {
    for (const { path, inBackups } of findDatabases(this.#dataFolder)) {
      if (!inBackups || this.#databases.has(path)) continue
      const file = join(this.#dataFolder, path)
      const connection = orExplain(path, () => openExisting(file))
      this.#databases.set(path, { file, connection, walWhenPinned: 0 })
      orExplain(path, () => read(connection))
    }
  }

  #check(): void {
    const { walGrowth } = this.#limits
    const grown = [...this.#databases].find(
      ([, { file, walWhenPinned }]) => walSize(file) - walWhenPinned > walGrowth,
    )
    if (grown === undefined || this.signal.aborted) return
    const mebibytes = Math.round(walGrowth / 1024 ** 2)
    void this.release(
      `The copy of ${grown[0]} was given up: more than ${mebibytes} MiB were written to the database meanwhile. Try again when less is written.`,
    )
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
  await writeFile(file, '', { flag: 'wx', mode: 0o600 })
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

/** The copy of a database in WAL mode would make a WAL as soon as somebody opens it. */
function withoutLog(file: string): void {
  using copy = new DatabaseSync(file)
  copy.exec('PRAGMA journal_mode = DELETE')
}

/** The size of a database's write-ahead log in bytes; 0 where there is none. It only asks for the size. */
function walSize(file: string): number {
  return statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0
}

function unavailable(message: string, cause?: unknown): NodekeepError {
  return new NodekeepError('SERVICE_UNAVAILABLE', message, { headers: { 'retry-after': '60' }, cause })
}
