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
} from '@nodekeep/plugin-sdk'
import type { CID } from 'multiformats/cid'
import { fullDisk, usableBytes } from '../store/disk-space.ts'
import type { LazyStore } from '../store/lazy-store.ts'
import type { Store } from '../store/store.ts'
import { BlockBacklog } from './block-backlog.ts'
import type { StoredFiles } from './stored-files.ts'

/** The store, and its files as they are. */
interface OpenedFiles {
  readonly store: Store
  readonly files: StoredFiles
}

/** A file without its name. */
interface NewFile extends Pick<StorageDriverWriteOptions, 'beforeCommit'> {
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
  readonly supports = { atomicFolders: true, durable: true, modified: true }
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
    { size: announced = 0, modified = new Date(), beforeCommit }: StorageDriverWriteOptions,
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
      return await this.#commit(opened, path, { root, size, modified, beforeCommit })
    } finally {
      session.end()
    }
  }

  /** The copy names the same blocks. */
  async copy(
    source: string,
    destination: string,
    { modified = new Date(), beforeCommit }: StorageDriverCopyOptions,
  ): Promise<StorageEntry> {
    const { CID } = await import('multiformats/cid')
    const opened = await this.#open()
    const { entry, root: bytes } = opened.files.entries.get(source)
    const root = CID.decode(bytes as Uint8Array)
    const session = opened.store.session()
    try {
      await session.hold(root)
      return await this.#commit(opened, destination, { root, size: entry.size, modified, beforeCommit })
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

  async move(source: string, destination: string): Promise<void> {
    await (await this.#store.open()).change([{ kind: 'move', source, destination }])
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
    { root, size, modified, beforeCommit }: NewFile,
  ): Promise<StorageEntry> {
    const revision = randomUUID()
    await beforeCommit({ revision })
    const created = files.entries.find(path)?.entry.created ?? new Date()
    await store.change([
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
