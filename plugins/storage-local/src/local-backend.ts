import type {
  StorageBackend,
  StorageCapabilities,
  StorageEntry,
  StorageReading,
  StorageReadOptions,
  StorageRemoveOptions,
  StorageSnapshot,
  StorageWriteOptions,
} from '@nodekeep/plugin-sdk'
import { callerError, checkRoot, probe } from './availability.ts'
import { ChangeGate } from './changes/change-gate.ts'
import { rootIsFixed } from './changes/conflicts.ts'
import { move } from './changes/move.ts'
import { makeMissing, retryWhileChanging } from './changes/parent-folders.ts'
import { remove } from './changes/remove.ts'
import type { Store } from './changes/store.ts'
import { writeFile } from './changes/write.ts'
import { namesOf, walk } from './folders/walk.ts'
import { closed, OpenReadings } from './reading/open-readings.ts'
import { Tree } from './reading/tree.ts'
import { takeSnapshot } from './snapshot.ts'

/** The storage backend on a local disk. */
export class LocalBackend implements StorageBackend {
  readonly supports: StorageCapabilities
  readonly snapshot?: (signal: AbortSignal) => Promise<StorageSnapshot>
  readonly #store: Store
  readonly #rootPath: string
  readonly #tree: Tree
  readonly #openReadings = new OpenReadings()
  readonly #gate = new ChangeGate()
  readonly #closing = new AbortController()
  readonly #snapshots = new Set<StorageSnapshot>()
  readonly #calls = new Set<Promise<unknown>>()
  readonly #release: () => Promise<void>
  #closed: Promise<void> | undefined

  /** @param release closes the parts of the store, after all calls have ended */
  constructor(
    store: Store,
    settings: { rootPath: string; isDurable: boolean },
    release: () => Promise<void>,
  ) {
    this.#store = store
    this.#rootPath = settings.rootPath
    this.#tree = new Tree(store.disk, store.root, this.#openReadings)
    this.#release = release
    this.supports = { atomicMove: true, durable: settings.isDurable, snapshot: store.hasLinks }
    if (store.hasLinks) this.snapshot = (signal) => this.#call(() => this.#takeSnapshot(signal))
  }

  probe(signal: AbortSignal): Promise<void> {
    return this.#call(() => probe(this.#store, this.#rootPath, signal))
  }

  stat(path: string): Promise<StorageEntry> {
    return this.#call(() => this.#tree.stat(path))
  }

  list(path: string): AsyncIterable<StorageEntry> {
    return this.#guarded(this.#tree.list(path))
  }

  read(path: string, options: StorageReadOptions = {}): Promise<StorageReading> {
    return this.#call(() => this.#tree.read(path, options))
  }

  write(
    path: string,
    content: AsyncIterable<Uint8Array>,
    options: StorageWriteOptions = {},
  ): Promise<StorageEntry> {
    return this.#call(() => {
      const { signal } = options
      signal?.throwIfAborted()
      const signals = signal === undefined ? [this.#closing.signal] : [this.#closing.signal, signal]
      return writeFile(this.#store, this.#gate, { names: changeableNames(path), content, options, signals })
    })
  }

  makeDirectory(path: string): Promise<void> {
    return this.#call(async () => {
      const names = namesOf(path)
      await this.#gate.runShared(() => retryWhileChanging(() => this.#makeFolder(names)))
    })
  }

  remove(path: string, options: StorageRemoveOptions = {}): Promise<void> {
    return this.#call(() => {
      const names = changeableNames(path)
      return this.#change([names], () => remove(this.#store, names, options))
    })
  }

  move(source: string, destination: string, options: { readonly overwrite?: boolean } = {}): Promise<void> {
    return this.#call(() => {
      const [from, to] = [changeableNames(source), changeableNames(destination)]
      return this.#change([from, to], () => move(this.#store, from, to, options.overwrite ?? false))
    })
  }

  /** Aborts the writes and readings in progress, and waits for all other calls. */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    this.#closing.abort(closed())
    await this.#openReadings.end()
    while (this.#calls.size > 0) await Promise.allSettled(this.#calls)
    await Promise.allSettled([...this.#snapshots].map((snapshot) => snapshot.release()))
    await this.#release()
  }

  #change(paths: readonly string[][], run: () => Promise<void>): Promise<void> {
    const keys = paths.map((names) => names.join('/'))
    return this.#store.locks.run(keys, () => this.#gate.runShared(run))
  }

  /** Returns null when it has to be called again to see what it made. */
  async #makeFolder(names: readonly string[]): Promise<true | null> {
    const { disk, root, syncs, freeSpace } = this.#store
    const walked = await walk(disk, root, names)
    try {
      if (walked.missing.length > 0) {
        await freeSpace.check(undefined, [this.#closing.signal])
        await makeMissing(disk, walked)
        return null
      }
      await syncs.makeDurable(names, walked.folder)
      return true
    } finally {
      walked.folder.close()
    }
  }

  async #takeSnapshot(signal: AbortSignal): Promise<StorageSnapshot> {
    const snapshot = await this.#gate.runExclusive(() =>
      takeSnapshot(this.#store, this.#openReadings, signal),
    )
    this.#snapshots.add(snapshot)
    return {
      list: (path) => this.#guarded(snapshot.list(path)),
      read: (path, options) => this.#call(() => snapshot.read(path, options)),
      release: () =>
        this.#call(async () => {
          this.#snapshots.delete(snapshot)
          await snapshot.release()
        }),
    }
  }

  async *#guarded(entries: AsyncIterable<StorageEntry>): AsyncGenerator<StorageEntry> {
    let isEmpty = true
    try {
      this.#closing.signal.throwIfAborted()
      for await (const entry of entries) {
        isEmpty = false
        yield entry
        this.#closing.signal.throwIfAborted()
      }
      this.#closing.signal.throwIfAborted()
      if (isEmpty) checkRoot(this.#store)
    } catch (error) {
      throw callerError(this.#store, error)
    }
  }

  async #call<T>(run: () => T | Promise<T>): Promise<T> {
    this.#closing.signal.throwIfAborted()
    const call = (async () => run())()
    this.#calls.add(call)
    try {
      return await call
    } catch (error) {
      throw callerError(this.#store, error)
    } finally {
      this.#calls.delete(call)
    }
  }
}

function changeableNames(path: string): string[] {
  const names = namesOf(path)
  if (names.length === 0) throw rootIsFixed()
  return names
}
