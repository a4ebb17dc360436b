import type {
  PreparedSnapshot,
  StorageDriver,
  StorageDriverCapabilities,
  StorageDriverReading,
  StorageDriverReadOptions,
  StorageDriverSnapshot,
  StorageDriverWriteOptions,
  StorageEntry,
  StorageListOptions,
  StorageMoveOptions,
  StorageRemoveOptions,
  StorageSpace,
} from '@nodekeep/plugin-sdk'
import { callerError, checkRoot, probe } from './availability.ts'
import { move } from './changes/move.ts'
import { makeMissing, retryWhileChanging } from './changes/parent-folders.ts'
import { RecordedChanges } from './changes/recorded-changes.ts'
import { remove } from './changes/remove.ts'
import type { Store } from './changes/store.ts'
import { writeFile } from './changes/write.ts'
import { namesOf, walk } from './folders/walk.ts'
import { Tree } from './reading/tree.ts'
import { prepareSnapshot, type Snapshot } from './snapshot.ts'
import { storageIdOf } from './watching/storage-id.ts'
import { watchRoot } from './watching/watch.ts'

/** Stores files on a local disk. */
export class LocalDriver implements StorageDriver {
  readonly supports: StorageDriverCapabilities
  readonly plainFolder: string
  readonly prepareSnapshot?: Required<StorageDriver>['prepareSnapshot']
  readonly close: () => Promise<void>
  readonly #store: Store
  readonly #tree: Tree
  readonly #changes = new RecordedChanges()
  readonly #onWatchFailure: (error: Error) => void

  /** @param close closes the parts of the store */
  constructor(
    store: Store,
    settings: {
      rootPath: string
      isDurable: boolean
      keepsTimes: boolean
      onWatchFailure: (error: Error) => void
    },
    close: () => Promise<void>,
  ) {
    this.#store = store
    this.plainFolder = settings.rootPath
    this.#onWatchFailure = settings.onWatchFailure
    this.#tree = new Tree(store.disk, store.root)
    this.close = close
    this.supports = {
      atomicFolders: true,
      durable: settings.isDurable,
      modified: settings.keepsTimes,
      atomicConditions: true,
    }
    if (store.hasLinks) this.prepareSnapshot = (signal) => this.#run(() => this.#prepareSnapshot(signal))
  }

  probe(signal: AbortSignal): Promise<void> {
    return this.#run(() => probe(this.#store, this.plainFolder, signal))
  }

  stat(path: string): Promise<StorageEntry> {
    return this.#run(() => this.#tree.stat(path))
  }

  list(path: string, options?: StorageListOptions): AsyncIterable<StorageEntry> {
    return this.#list(this.#tree, path, options)
  }

  open(path: string, options: StorageDriverReadOptions): Promise<StorageDriverReading> {
    return this.#run(() => this.#tree.read(path, options))
  }

  write(
    path: string,
    content: AsyncIterable<Uint8Array>,
    options: StorageDriverWriteOptions,
  ): Promise<StorageEntry> {
    const names = namesOf(path)
    return this.#run(() => writeFile(this.#store, this.#changes, { names, content, options }))
  }

  makeDirectory(path: string): Promise<void> {
    const names = namesOf(path)
    return this.#run(async () => {
      await this.#changes.run([names], (onApplied) =>
        retryWhileChanging(() => this.#makeFolder(names, onApplied)),
      )
    })
  }

  remove(path: string, options: StorageRemoveOptions): Promise<void> {
    const names = namesOf(path)
    return this.#change([names], (onApplied) => remove(this.#store, names, options, onApplied))
  }

  move(source: string, destination: string, options: StorageMoveOptions): Promise<void> {
    const [from, to] = [namesOf(source), namesOf(destination)]
    const { overwrite = false } = options
    return this.#change([from, to], (onApplied) =>
      move(this.#store, { source: from, destination: to, overwrite, onApplied }),
    )
  }

  storageId(): Promise<string> {
    return this.#run(() => storageIdOf(this.#store.staging))
  }

  space(): Promise<StorageSpace | null> {
    return this.#run(() => this.#store.freeSpace.space())
  }

  async watch(listener: (path: string) => void, signal: AbortSignal): Promise<void> {
    const { root, staging } = this.#store
    await watchRoot({
      root: root.path,
      staging: staging.path,
      listener: (paths) => paths.forEach(listener),
      signal,
      onFailure: this.#onWatchFailure,
    })
  }

  #change(paths: readonly string[][], change: (onApplied: () => void) => Promise<void>): Promise<void> {
    const keys = paths.map((names) => names.join('/'))
    const recorded = () => this.#changes.run(paths, change, { movesTrees: true })
    return this.#run(() => this.#store.locks.run(keys, recorded))
  }

  /** Returns null when it has to be called again to see what it made. */
  async #makeFolder(names: readonly string[], onApplied: () => void): Promise<true | null> {
    const { disk, root, syncs, freeSpace } = this.#store
    const walked = await walk(disk, root, names)
    try {
      if (walked.missing.length > 0) {
        await freeSpace.check(undefined)
        await makeMissing(disk, walked)
        return null
      }
      onApplied()
      await syncs.makeDurable(names, walked.folder)
      return true
    } finally {
      walked.folder.close()
    }
  }

  async #prepareSnapshot(signal: AbortSignal): Promise<PreparedSnapshot<StorageDriverSnapshot>> {
    const prepared = await prepareSnapshot(this.#store, this.#changes, signal)
    return {
      halt: () =>
        this.#run(async () => {
          const halted = await prepared.halt()
          return { ...halted, fix: async () => this.#viewOf(await halted.fix()) }
        }),
      release: () => this.#run(() => prepared.release()),
    }
  }

  #viewOf(snapshot: Snapshot): StorageDriverSnapshot {
    const { tree, omitted, release } = snapshot
    return {
      omitted,
      get changed() {
        return snapshot.changed
      },
      stat: (path) => this.#run(() => tree.stat(path)),
      list: (path) => this.#list(tree, path),
      open: (path, options) => this.#run(() => tree.read(path, options)),
      link: (path, to) => this.#run(() => tree.link(path, to)),
      release: () => this.#run(release),
    }
  }

  async *#list(tree: Tree, path: string, options?: StorageListOptions): AsyncIterable<StorageEntry> {
    let isEmpty = true
    try {
      for await (const entry of tree.list(path, options)) {
        isEmpty = false
        yield entry
      }
      if (isEmpty) checkRoot(this.#store)
    } catch (error) {
      throw callerError(this.#store, error)
    }
  }

  async #run<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      throw callerError(this.#store, error)
    }
  }
}
