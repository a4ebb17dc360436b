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
import { FreeSpace } from './free-space.ts'
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
  list,
  nameOf,
  newFolder,
  parentOf,
  read,
} from './tree.ts'

export interface MemoryBackendOptions {
  /** The most bytes that the content of all files together may take. */
  readonly maxBytes: number
  /** The section of the configuration that sets the limit, for messages. */
  readonly section?: string
}

/** Keeps files in memory. Every change of the tree is one synchronous step, and so it is atomic. */
export class MemoryBackend implements StorageBackend {
  readonly supports = { atomicMove: true, durable: false, snapshot: true }
  readonly #root = newFolder()
  readonly #freeSpace: FreeSpace
  readonly #closing = new AbortController()
  /** Clients keep revisions longer than this process lives. Those of another process must differ. */
  readonly #process = randomBytes(6).toString('base64url')
  #revisions = 0

  constructor({ maxBytes, section = 'storage-memory' }: MemoryBackendOptions) {
    this.#freeSpace = new FreeSpace(maxBytes, section)
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
    const { blocks, size } = await stage(content, { size: options.size, signal, freeSpace: this.#freeSpace })
    try {
      this.#revisions += 1
      const revision = `${this.#process}-${this.#revisions}`
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
      this.#freeSpace.release(replaced?.size ?? 0)
      return entryOf(path, file)
    } catch (error) {
      this.#freeSpace.release(size)
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
    if (path === '/')
      throw new NodekeepError('CONFLICT', 'The root cannot be removed. Remove the files and folders in it.')
    if (onlyIfEmpty && !isEmptyFolder(node)) {
      throw new NodekeepError('CONFLICT', `${path} is not an empty folder. Remove its content first.`)
    }
    if (ifRevision !== undefined && (node.type === 'directory' || node.revision !== ifRevision))
      throw otherRevision(path)
    folderAt(this.#root, parentOf(path)).entries.delete(nameOf(path))
    this.#freeSpace.release(bytesOf(node))
  }

  async move(source: string, destination: string, { overwrite = false } = {}): Promise<void> {
    this.#checkOpen()
    const node = get(this.#root, source)
    if (isWithin(destination, source) || isWithin(source, destination)) {
      throw new NodekeepError(
        'CONFLICT',
        `${source} cannot be moved to ${destination}: one contains the other.`,
      )
    }
    const replaced = find(this.#root, destination)
    if (replaced !== undefined && !overwrite) {
      throw new NodekeepError(
        'CONFLICT',
        `A file or folder exists at ${destination}. Choose another destination, or ask to overwrite.`,
      )
    }
    folderAt(this.#root, parentOf(destination)).entries.set(nameOf(destination), node)
    folderAt(this.#root, parentOf(source)).entries.delete(nameOf(source))
    if (replaced !== undefined) this.#freeSpace.release(bytesOf(replaced))
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
    this.#closing.abort(
      new NodekeepError('SERVICE_UNAVAILABLE', 'The storage in memory is closed. Start it again to use it.'),
    )
  }

  #checkOpen(): void {
    this.#closing.signal.throwIfAborted()
  }

  /** Throws if the tree does not allow the write now. */
  #checkWrite(path: string, { ifAbsent, ifRevision }: StorageConditions): void {
    const node = find(this.#root, path)
    if (ifAbsent && node !== undefined) throw otherRevision(path)
    if (ifRevision !== undefined && node?.revision !== ifRevision) throw otherRevision(path)
    if (node?.type === 'directory') throw new NodekeepError('CONFLICT', `${path} is a folder.`)
    checkFolders(this.#root, parentOf(path))
  }
}

function otherRevision(path: string): NodekeepError {
  return new NodekeepError(
    'PRECONDITION_FAILED',
    `The file at ${path} was changed or removed, or exists already. Read it again, then repeat the change.`,
  )
}
