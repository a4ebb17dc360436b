import { randomBytes } from 'node:crypto'
import {
  NodekeepError,
  type StorageBackend,
  type StorageConditions,
  type StorageEntry,
  type StorageReading,
  type StorageReadOptions,
  type StorageRemoveOptions,
  type StorageSnapshot,
  type StorageWriteOptions,
} from '@nodekeep/plugin-sdk'
import { list, read } from './reading.ts'
import { Room } from './room.ts'
import { stage } from './staging.ts'
import {
  bytesOf,
  checkFolders,
  copyFolder,
  entryOf,
  find,
  folderAt,
  get,
  isEmptyFolder,
  isWithin,
  nameOf,
  newFolder,
  parentOf,
} from './tree.ts'

export interface MemoryBackendOptions {
  /** Room for the content of all files together. */
  readonly maxBytes: number
  /** The section of the configuration that sets it, for messages. */
  readonly section?: string
}

/** Keeps files in memory. Every change of the tree is one synchronous step, so that it is atomic by itself. */
export class MemoryBackend implements StorageBackend {
  readonly supports = { atomicMove: true, durable: false, snapshot: true }
  readonly #root = newFolder()
  readonly #room: Room
  readonly #closing = new AbortController()
  /** Clients keep revisions longer than this memory lives: those of another life must not look the same. */
  readonly #life = randomBytes(6).toString('base64url')
  #revisions = 0

  constructor({ maxBytes, section = 'storage-memory' }: MemoryBackendOptions) {
    this.#room = new Room(maxBytes, section)
  }

  async probe(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    this.#checkOpen()
  }

  async stat(path: string): Promise<StorageEntry> {
    this.#checkOpen()
    return entryOf(path, get(this.#root, path))
  }

  async *list(path: string): AsyncIterable<StorageEntry> {
    this.#checkOpen()
    yield* list(this.#root, path)
  }

  async read(path: string, options: StorageReadOptions = {}): Promise<StorageReading> {
    this.#checkOpen()
    return read(this.#root, path, options)
  }

  async write(
    path: string,
    content: AsyncIterable<Uint8Array>,
    options: StorageWriteOptions = {},
  ): Promise<StorageEntry> {
    this.#checkOpen()
    this.#checkWrite(path, options)
    const signal = AbortSignal.any([this.#closing.signal, ...(options.signal ? [options.signal] : [])])
    const { blocks, size } = await stage(content, { size: options.size, signal, room: this.#room })
    try {
      this.#revisions += 1
      const revision = `${this.#life}-${this.#revisions}`
      this.#checkWrite(path, options)
      await options.beforeCommit?.({ revision, size })
      signal.throwIfAborted()
      this.#checkWrite(path, options)
      const replaced = find(this.#root, path)
      const modified = new Date()
      const file = {
        type: 'file',
        blocks,
        size,
        modified,
        created: replaced?.created ?? modified,
        revision,
      } as const
      folderAt(this.#root, parentOf(path)).entries.set(nameOf(path), file)
      this.#room.give(replaced?.size ?? 0)
      return entryOf(path, file)
    } catch (error) {
      this.#room.give(size)
      throw error
    }
  }

  async makeDirectory(path: string): Promise<void> {
    this.#checkOpen()
    folderAt(this.#root, path)
  }

  async remove(path: string, { ifRevision, onlyIfEmpty }: StorageRemoveOptions = {}): Promise<void> {
    this.#checkOpen()
    const node = get(this.#root, path)
    if (path === '/') throw new NodekeepError('CONFLICT', 'The root stays. Remove what is in it.')
    if (onlyIfEmpty && !isEmptyFolder(node)) {
      throw new NodekeepError('CONFLICT', `${path} is no folder without anything in it.`)
    }
    if (ifRevision !== undefined && (node.type === 'directory' || node.revision !== ifRevision))
      throw changedMeanwhile(path)
    folderAt(this.#root, parentOf(path)).entries.delete(nameOf(path))
    this.#room.give(bytesOf(node))
  }

  async move(source: string, destination: string, { overwrite = false } = {}): Promise<void> {
    this.#checkOpen()
    const node = get(this.#root, source)
    if (isWithin(destination, source) || isWithin(source, destination)) {
      throw new NodekeepError('CONFLICT', `${source} cannot move to ${destination}: one is in the other.`)
    }
    const replaced = find(this.#root, destination)
    if (replaced !== undefined && !overwrite) {
      throw new NodekeepError('CONFLICT', `Something is at ${destination} already.`)
    }
    folderAt(this.#root, parentOf(destination)).entries.set(nameOf(destination), node)
    folderAt(this.#root, parentOf(source)).entries.delete(nameOf(source))
    if (replaced !== undefined) this.#room.give(bytesOf(replaced))
  }

  async snapshot(signal: AbortSignal): Promise<StorageSnapshot> {
    signal.throwIfAborted()
    this.#checkOpen()
    let root = copyFolder(this.#root)
    return {
      async *list(path) {
        yield* list(root, path)
      },
      read: async (path, options = {}) => read(root, path, options),
      async release() {
        root = newFolder()
      },
    }
  }

  async close(): Promise<void> {
    this.#closing.abort(new NodekeepError('SERVICE_UNAVAILABLE', 'The storage in memory is closed.'))
  }

  #checkOpen(): void {
    this.#closing.signal.throwIfAborted()
  }

  /** Throws when a write cannot happen as the tree is now. */
  #checkWrite(path: string, { ifAbsent, ifRevision }: StorageConditions): void {
    const node = find(this.#root, path)
    if (ifAbsent && node !== undefined) throw changedMeanwhile(path)
    if (ifRevision !== undefined && node?.revision !== ifRevision) throw changedMeanwhile(path)
    if (node?.type === 'directory') throw new NodekeepError('CONFLICT', `${path} is a folder.`)
    checkFolders(this.#root, parentOf(path))
  }
}

function changedMeanwhile(path: string): NodekeepError {
  return new NodekeepError(
    'PRECONDITION_FAILED',
    `What is at ${path} is not what was expected. Look at it again.`,
  )
}
