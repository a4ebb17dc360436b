import {
  isNodekeepError,
  type PreparedSnapshot,
  type StorageDriver,
  type StorageDriverCapabilities,
  type StorageDriverReading,
  type StorageDriverReadOptions,
  type StorageDriverSnapshot,
  type StorageDriverStaged,
  type StorageDriverWriteOptions,
  type StorageEntry,
  type StorageListOptions,
  type StorageMoveOptions,
  type StorageRemoveOptions,
  type StorageReplacement,
  type StorageSpace,
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
import { type Left, OwnChanges } from './watching/own-changes.ts'
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
  /** Null while nobody watches. */
  #own: OwnChanges | null = null

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
      keepsReplaced: store.hasLinks,
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
    const own = this.#own
    if (own === null)
      return this.#run(() => writeFile(this.#store, this.#changes, { names, content, options }))
    let kept: Left = null
    const beforeCommit = (staged: StorageDriverStaged) => {
      kept = staged.replaced?.revision ?? null
      return options.beforeCommit(staged)
    }
    const write = () =>
      writeFile(this.#store, this.#changes, { names, content, options: { ...options, beforeCommit } })
    const paths = [path, ...pathsOf(options)]
    return this.#run(() => own.run(paths, write, ({ revision }) => [revision, kept]))
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
    const change = () => this.#change([names], (onApplied) => remove(this.#store, names, options, onApplied))
    return this.#own?.run([path], change, () => [null]) ?? change()
  }

  move(source: string, destination: string, options: StorageMoveOptions): Promise<void> {
    const [from, to] = [namesOf(source), namesOf(destination)]
    const { overwrite = false, keepReplacedAt } = options
    const kept = pathsOf(options)
    const change = () =>
      this.#change([from, to, ...kept.map(namesOf)], (onApplied) =>
        move(this.#store, { source: from, destination: to, overwrite, keepReplacedAt, onApplied }),
      )
    if (this.#own === null) return change()
    // If another program changes a file before it is moved, it has another revision then.
    const own = this.#own
    const moved = kept.length > 0 ? [source, destination] : [source]
    return Promise.all(moved.map((path) => this.#leftAt(path))).then((left) =>
      own.run([source, destination, ...kept], change, () => [null, ...left]),
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
    const own = new OwnChanges((path) => this.#leftAt(path))
    this.#own = own
    const hint = async (path: string) => {
      if (!(await own.isAsLeft(path))) listener(path)
    }
    await watchRoot({
      root: root.path,
      staging: staging.path,
      listener: (paths) => {
        for (const path of paths) {
          if (own.mayKnow(path)) hint(path)
          else listener(path)
        }
      },
      signal,
      onFailure: this.#onWatchFailure,
    })
  }

  async #leftAt(path: string): Promise<Left> {
    try {
      const { type, revision } = await this.#tree.stat(path)
      return type === 'file' ? revision : undefined
    } catch (error) {
      const reason = callerError(this.#store, error)
      return isNodekeepError(reason) && reason.code === 'NOT_FOUND' ? null : undefined
    }
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

/** Returns the path at which a change keeps what it replaces, if it does. */
function pathsOf({ keepReplacedAt }: StorageReplacement): string[] {
  return keepReplacedAt === undefined ? [] : [keepReplacedAt]
}
