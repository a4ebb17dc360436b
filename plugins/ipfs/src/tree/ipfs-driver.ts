import { randomUUID } from 'node:crypto'
import { statfs } from 'node:fs/promises'
import {
  createStorageBackend,
  nameOf,
  type StorageBackend,
  type StorageDriver,
  type StorageDriverCopyOptions,
  type StorageDriverListOptions,
  type StorageDriverReading,
  type StorageDriverReadOptions,
  type StorageDriverSnapshot,
  type StorageDriverWriteOptions,
  type StorageEntry,
  type StorageReplacement,
} from '@nodekeep/plugin-sdk'
import type { CID } from 'multiformats/cid'
import { fullDisk, usableBytes } from '../store/disk-space.ts'
import type { LazyStore } from '../store/lazy-store.ts'
import type { StoreChange } from '../store/protocol.ts'
import type { Store } from '../store/store.ts'
import { BlockBacklog } from './block-backlog.ts'
import type { StoredFiles } from './stored-files.ts'

/** The store, and its files as they are. */
interface OpenedFiles {
  readonly store: Store
  readonly files: StoredFiles
}

/** A file without its name. */
interface NewFile extends Pick<StorageDriverWriteOptions, 'beforeCommit' | 'keepReplacedAt'> {
  readonly root: CID
  readonly size: number
  readonly modified: Date
}

/**
 * Makes a storage backend that keeps files as IPFS blocks. Nothing is opened before the first use. The store stays open at its close.
 *
 * @param folder of the packs
 */
export function createIpfsBackend(store: LazyStore, folder: string): StorageBackend {
  return createStorageBackend(new IpfsDriver(store, folder), { timeLimitMs: Number.POSITIVE_INFINITY })
}

/** Only the node itself changes these files, and the look at an entry costs less than a message to the thread that changes them. */
class IpfsDriver implements StorageDriver {
  readonly supports = { atomicFolders: true, durable: true, modified: true, keepsReplaced: true }
  readonly #store: LazyStore
  readonly #folder: string
  #opened: OpenedFiles | undefined

  constructor(store: LazyStore, folder: string) {
    this.#store = store
    this.#folder = folder
  }

  async stat(path: string): Promise<StorageEntry> {
    return (await this.#open()).files.stat(path)
  }

  async *list(path: string, options: StorageDriverListOptions): AsyncIterable<StorageEntry> {
    yield* (await this.#open()).files.list(path, options)
  }

  async open(path: string, options: StorageDriverReadOptions): Promise<StorageDriverReading> {
    return (await this.#open()).files.open(path, options)
  }

  async write(
    path: string,
    content: AsyncIterable<Uint8Array>,
    { size: announced = 0, modified = new Date(), ...options }: StorageDriverWriteOptions,
  ): Promise<StorageEntry> {
    const { addFile } = await import('../unixfs/add-file.ts')
    const opened = await this.#open()
    // The store refuses blocks itself, but a large file should not be sent for nothing.
    if (announced > usableBytes(await statfs(this.#folder))) throw fullDisk()
    const session = opened.store.session()
    try {
      const backlog = new BlockBacklog(session)
      const { root, size } = await addFile(content, (cid, bytes) => backlog.put(cid, bytes))
      await backlog.end()
      return await this.#commit(opened, path, { ...options, root, size, modified })
    } finally {
      session.end()
    }
  }

  /** The copy names the same blocks. */
  async copy(
    source: string,
    destination: string,
    { modified = new Date(), ...options }: StorageDriverCopyOptions,
  ): Promise<StorageEntry> {
    const { CID } = await import('multiformats/cid')
    const opened = await this.#open()
    const { entry, root: bytes } = opened.files.entries.get(source)
    const root = CID.decode(bytes as Uint8Array)
    const session = opened.store.session()
    try {
      await session.hold(root)
      const { size } = entry
      return await this.#commit(opened, destination, { ...options, root, size, modified })
    } finally {
      session.end()
    }
  }

  async makeDirectory(path: string): Promise<void> {
    await (await this.#store.open()).change([{ kind: 'folder', path }])
  }

  async remove(path: string): Promise<void> {
    await (await this.#store.open()).change([{ kind: 'remove', path }])
  }

  async move(source: string, destination: string, { keepReplacedAt }: StorageReplacement): Promise<void> {
    const { store, files } = await this.#open()
    const isReplaced = files.entries.find(destination) !== undefined
    await store.change([
      ...(isReplaced ? keeping(destination, keepReplacedAt) : []),
      { kind: 'move', source, destination },
    ])
  }

  async snapshot(): Promise<StorageDriverSnapshot> {
    const { StoredFiles } = await import('./stored-files.ts')
    const { view, release } = (await this.#store.open()).snapshot()
    const files = new StoredFiles(view, null)
    return {
      stat: (path) => files.stat(path),
      list: (path, options) => files.list(path, options),
      open: (path, options) => files.open(path, options),
      release,
    }
  }

  async close(): Promise<void> {}

  async #open(): Promise<OpenedFiles> {
    const store = await this.#store.open()
    if (this.#opened?.store !== store) {
      const { StoredFiles } = await import('./stored-files.ts')
      this.#opened = { store, files: new StoredFiles(store.view, store) }
    }
    return this.#opened
  }

  async #commit(
    { store, files }: OpenedFiles,
    path: string,
    { root, size, modified, beforeCommit, keepReplacedAt }: NewFile,
  ): Promise<StorageEntry> {
    const revision = randomUUID()
    await beforeCommit({ revision })
    const replaced = files.entries.find(path)
    const created = replaced?.entry.created ?? new Date()
    await store.change([
      ...(replaced ? keeping(path, keepReplacedAt) : []),
      {
        kind: 'file',
        path,
        root: root.bytes,
        size,
        modified: modified.getTime(),
        created: created.getTime(),
        revision,
      },
    ])
    return { name: nameOf(path), type: 'file', size, modified, created, revision }
  }
}

/** Returns the change that keeps what is at a path before it is replaced. */
function keeping(path: string, keepReplacedAt: string | undefined): StoreChange[] {
  return keepReplacedAt === undefined ? [] : [{ kind: 'move', source: path, destination: keepReplacedAt }]
}
