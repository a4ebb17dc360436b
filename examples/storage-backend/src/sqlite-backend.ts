import { DatabaseSync } from 'node:sqlite'
import {
  NodekeepError,
  type StorageBackend,
  type StorageEntry,
  type StorageReading,
  type StorageReadOptions,
  type StorageRemoveOptions,
  type StorageSnapshot,
  type StorageWriteOptions,
} from '@nodekeep/plugin-sdk'
import { Contents, readContent } from './contents.ts'
import { Database } from './database.ts'
import { entryOf, Tree, type TreeNode } from './tree.ts'

/**
 * Opens a database of files, or makes it.
 *
 * @param options.maxBytes the largest size of the database, in bytes
 */
export function openSqliteBackend(file: string, { maxBytes }: { readonly maxBytes: number }): StorageBackend {
  return new SqliteBackend(file, new Database(file, maxBytes))
}

class SqliteBackend implements StorageBackend {
  readonly supports = { atomicMove: true, durable: true, snapshot: true }
  readonly #file: string
  readonly #database: Database
  readonly #tree: Tree
  readonly #contents: Contents
  readonly #closing = new AbortController()
  readonly #snapshots = new Set<DatabaseSync>()

  constructor(file: string, database: Database) {
    this.#file = file
    this.#database = database
    this.#tree = new Tree(database.connection)
    this.#contents = new Contents(database)
  }

  async probe(signal: AbortSignal): Promise<void> {
    this.#signal(signal).throwIfAborted()
    this.#tree.get('/')
  }

  async stat(path: string): Promise<StorageEntry> {
    this.#checkOpen()
    return entryOf(this.#tree.get(path))
  }

  async *list(path: string): AsyncIterable<StorageEntry> {
    this.#checkOpen()
    for (const node of this.#tree.list(path)) yield entryOf(node)
  }

  async read(path: string, options: StorageReadOptions = {}): Promise<StorageReading> {
    const signal = this.#signal(options.signal)
    signal.throwIfAborted()
    const node = this.#tree.get(path)
    const { content, start, end } = rangeOf(node, options)
    this.#contents.hold(content)
    return { entry: entryOf(node), content: this.#contents.read(content, start, end, signal) }
  }

  async write(
    path: string,
    stream: AsyncIterable<Uint8Array>,
    options: StorageWriteOptions = {},
  ): Promise<StorageEntry> {
    const signal = this.#signal(options.signal)
    signal.throwIfAborted()
    this.#tree.checkWrite(path, options)
    const staged = await this.#contents.stage(stream, options.size, signal)
    try {
      await options.beforeCommit?.({ revision: String(staged.content), size: staged.size })
      signal.throwIfAborted()
      const orphans = this.#database.transaction(() => {
        this.#tree.checkWrite(path, options)
        return this.#tree.insert(path, staged)
      })
      this.#contents.drop(orphans)
      return entryOf(this.#tree.get(path))
    } catch (error) {
      this.#contents.drop([staged.content])
      throw error
    }
  }

  async makeDirectory(path: string): Promise<void> {
    this.#checkOpen()
    this.#database.transaction(() => this.#tree.folder(path))
  }

  async remove(path: string, { ifRevision, onlyIfEmpty }: StorageRemoveOptions = {}): Promise<void> {
    this.#checkOpen()
    const orphans = this.#database.transaction(() => {
      const node = this.#tree.get(path)
      if (path === '/')
        throw new NodekeepError('CONFLICT', 'The root cannot be removed. Remove the files and folders in it.')
      if (ifRevision !== undefined && (node.content === null || ifRevision !== entryOf(node).revision)) {
        throw new NodekeepError(
          'PRECONDITION_FAILED',
          `The file at ${path} was changed or removed. Read it again, then repeat the change.`,
        )
      }
      if (onlyIfEmpty) this.#tree.checkEmpty(node)
      return this.#tree.remove(node)
    })
    this.#contents.drop(orphans)
  }

  async move(source: string, destination: string, { overwrite = false } = {}): Promise<void> {
    this.#checkOpen()
    this.#contents.drop(this.#database.transaction(() => this.#tree.move(source, destination, overwrite)))
  }

  /** A second connection with an open transaction sees the database as it is now, even if it changes later. */
  async snapshot(signal: AbortSignal): Promise<StorageSnapshot> {
    this.#signal(signal).throwIfAborted()
    const connection = new DatabaseSync(this.#file, { readOnly: true })
    connection.exec('BEGIN')
    const tree = new Tree(connection)
    tree.get('/')
    this.#snapshots.add(connection)
    return {
      async *list(path) {
        for (const node of tree.list(path)) yield entryOf(node)
      },
      read: async (path, options = {}) => {
        const node = tree.get(path)
        const { content, start, end } = rangeOf(node, options)
        const bytes = readContent(connection, content, start, end, this.#signal(options.signal))
        return { entry: entryOf(node), content: bytes }
      },
      release: async () => {
        if (this.#snapshots.delete(connection)) connection.close()
      },
    }
  }

  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return
    this.#closing.abort(
      new NodekeepError('SERVICE_UNAVAILABLE', 'The database of files is closed. Start it again to use it.'),
    )
    for (const snapshot of this.#snapshots) snapshot.close()
    this.#database.connection.close()
  }

  #checkOpen(): void {
    this.#closing.signal.throwIfAborted()
  }

  /** Returns a signal that aborts with the caller's, and when the backend closes. */
  #signal(signal?: AbortSignal): AbortSignal {
    return signal ? AbortSignal.any([this.#closing.signal, signal]) : this.#closing.signal
  }
}

function rangeOf({ name, content, size }: TreeNode, { start, end }: StorageReadOptions) {
  if (content === null)
    throw new NodekeepError('CONFLICT', `"${name}" is a folder. Read the files in it, or list it.`)
  if (Math.max(start ?? -1, end ?? -1) >= size) {
    throw new NodekeepError('RANGE_NOT_SATISFIABLE', `The file has ${size} bytes. Ask for a range within it.`)
  }
  return { content, start: start ?? 0, end: end ?? size - 1 }
}
