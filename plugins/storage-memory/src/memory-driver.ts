import { randomBytes } from 'node:crypto'
import {
  createStorageBackend,
  nameOf,
  parentOf,
  type StorageBackend,
  type StorageDriver,
  type StorageDriverCopyOptions,
  type StorageDriverReading,
  type StorageDriverReadOptions,
  type StorageDriverSnapshot,
  type StorageDriverWriteOptions,
  type StorageEntry,
  type StorageReplacement,
  type StorageSpace,
} from '@nodekeep/plugin-sdk'
import { Blocks } from './blocks.ts'
import { FreeSpace } from './free-space.ts'
import {
  bytesOf,
  copyFolder,
  entryOf,
  find,
  folderAt,
  get,
  list,
  type MemoryFile,
  type MemoryFolder,
  type MemoryNode,
  newFolder,
  read,
} from './tree.ts'

interface MemoryBackendOptions {
  /** The most bytes that the content of all files together may take. */
  readonly maxBytes: number
  /** The section of the configuration that sets the limit, for messages. */
  readonly section?: string
}

/** Makes a storage backend that keeps files in memory. */
export function createMemoryBackend(options: MemoryBackendOptions): StorageBackend {
  return createStorageBackend(new MemoryDriver(options), { timeLimitMs: Number.POSITIVE_INFINITY })
}

/** Every change of the tree is one synchronous step, and so it is atomic. */
class MemoryDriver implements StorageDriver {
  readonly supports = { atomicFolders: true, modified: true, keepsReplaced: true }
  readonly #root = newFolder()
  readonly #freeSpace: FreeSpace
  /** Clients keep revisions longer than this process lives. Those of another process must differ. */
  readonly #process = randomBytes(6).toString('base64url')
  #revisions = 0

  constructor({ maxBytes, section = 'storage-memory' }: MemoryBackendOptions) {
    this.#freeSpace = new FreeSpace(maxBytes, section)
  }

  /** The files of a process are gone with it. */
  async storageId(): Promise<string> {
    return this.#process
  }

  async space(): Promise<StorageSpace> {
    return this.#freeSpace.space
  }

  async stat(path: string): Promise<StorageEntry> {
    return entryOf(path, get(this.#root, path))
  }

  async *list(path: string): AsyncIterable<StorageEntry> {
    yield* list(this.#root, path)
  }

  async open(path: string, { start }: StorageDriverReadOptions): Promise<StorageDriverReading> {
    return read(this.#root, path, start)
  }

  async write(
    path: string,
    content: AsyncIterable<Uint8Array>,
    { size: announced = 0, modified = new Date(), ...options }: StorageDriverWriteOptions,
  ): Promise<StorageEntry> {
    this.#freeSpace.check(announced)
    const blocks = new Blocks()
    let size = 0
    try {
      for await (const chunk of content) {
        this.#freeSpace.reserve(chunk.length)
        size += chunk.length
        blocks.append(chunk)
      }
      return await this.#commit(path, { blocks: blocks.end(), size, modified }, options)
    } catch (error) {
      this.#freeSpace.release(size)
      throw error
    }
  }

  /** The copy shares the blocks, but counts as if it had its own: either file may be overwritten. */
  async copy(
    source: string,
    destination: string,
    { modified = new Date(), ...options }: StorageDriverCopyOptions,
  ): Promise<StorageEntry> {
    const { size, blocks } = get(this.#root, source) as MemoryFile
    this.#freeSpace.reserve(size)
    try {
      return await this.#commit(destination, { blocks, size, modified }, options)
    } catch (error) {
      this.#freeSpace.release(size)
      throw error
    }
  }

  async makeDirectory(path: string): Promise<void> {
    folderAt(this.#root, path)
  }

  async remove(path: string): Promise<void> {
    const node = get(this.#root, path)
    folderAt(this.#root, parentOf(path)).entries.delete(nameOf(path))
    this.#freeSpace.release(bytesOf(node))
  }

  async move(source: string, destination: string, { keepReplacedAt }: StorageReplacement): Promise<void> {
    this.#put(destination, get(this.#root, source), keepReplacedAt)
    folderAt(this.#root, parentOf(source)).entries.delete(nameOf(source))
  }

  async snapshot(): Promise<StorageDriverSnapshot> {
    return snapshotOf(copyFolder(this.#root))
  }

  async close(): Promise<void> {}

  async #commit(
    path: string,
    content: Pick<MemoryFile, 'blocks' | 'size' | 'modified'>,
    { beforeCommit, keepReplacedAt }: Pick<StorageDriverWriteOptions, 'beforeCommit' | 'keepReplacedAt'>,
  ): Promise<StorageEntry> {
    this.#revisions += 1
    const revision = `${this.#process}-${this.#revisions}`
    await beforeCommit({ revision })
    const created = find(this.#root, path)?.created ?? new Date()
    const file = { type: 'file', ...content, created, revision } as const
    this.#put(path, file, keepReplacedAt)
    return entryOf(path, file)
  }

  /** Puts a file or folder at a path. What was there is kept, or its bytes become free. */
  #put(path: string, node: MemoryNode, keepReplacedAt: string | undefined): void {
    const replaced = find(this.#root, path)
    folderAt(this.#root, parentOf(path)).entries.set(nameOf(path), node)
    if (replaced === undefined) return
    if (keepReplacedAt === undefined) this.#freeSpace.release(bytesOf(replaced))
    else folderAt(this.#root, parentOf(keepReplacedAt)).entries.set(nameOf(keepReplacedAt), replaced)
  }
}

function snapshotOf(copy: MemoryFolder): StorageDriverSnapshot {
  let root = copy
  return {
    stat: async (path) => entryOf(path, get(root, path)),
    async *list(path) {
      yield* list(root, path)
    },
    open: async (path, { start }) => read(root, path, start),
    async release() {
      root = newFolder()
    },
  }
}
