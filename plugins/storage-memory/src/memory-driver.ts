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
  readonly supports = { atomicFolders: true, modified: true }
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
    { size: announced = 0, modified = new Date(), beforeCommit }: StorageDriverWriteOptions,
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
      return await this.#commit(path, { blocks: blocks.end(), size, modified }, beforeCommit)
    } catch (error) {
      this.#freeSpace.release(size)
      throw error
    }
  }

  /** The copy shares the blocks, but counts as if it had its own: either file may be overwritten. */
  async copy(
    source: string,
    destination: string,
    { modified = new Date(), beforeCommit }: StorageDriverCopyOptions,
  ): Promise<StorageEntry> {
    const { size, blocks } = get(this.#root, source) as MemoryFile
    this.#freeSpace.reserve(size)
    try {
      return await this.#commit(destination, { blocks, size, modified }, beforeCommit)
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

  async move(source: string, destination: string): Promise<void> {
    const node = get(this.#root, source)
    const replaced = find(this.#root, destination)
    folderAt(this.#root, parentOf(destination)).entries.set(nameOf(destination), node)
    folderAt(this.#root, parentOf(source)).entries.delete(nameOf(source))
    if (replaced !== undefined) this.#freeSpace.release(bytesOf(replaced))
  }

  async snapshot(): Promise<StorageDriverSnapshot> {
    return snapshotOf(copyFolder(this.#root))
  }

  async close(): Promise<void> {}

  async #commit(
    path: string,
    content: Pick<MemoryFile, 'blocks' | 'size' | 'modified'>,
    beforeCommit: StorageDriverWriteOptions['beforeCommit'],
  ): Promise<StorageEntry> {
    this.#revisions += 1
    const revision = `${this.#process}-${this.#revisions}`
    await beforeCommit({ revision })
    const replaced = find(this.#root, path)
    const file = { type: 'file', ...content, created: replaced?.created ?? new Date(), revision } as const
    folderAt(this.#root, parentOf(path)).entries.set(nameOf(path), file)
    this.#freeSpace.release(replaced?.size ?? 0)
    return entryOf(path, file)
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
