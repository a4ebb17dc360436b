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
import { type ChangeGate, createChangeGate } from './changes/change-gate.ts'
import { move } from './changes/move.ts'
import { rootStays } from './changes/obstacles.ts'
import { persist, placeFolders } from './changes/placing.ts'
import { remove } from './changes/remove.ts'
import type { Store } from './changes/store.ts'
import { writeFile } from './changes/write.ts'
import { namesOf, walk } from './folders/walk.ts'
import { probe } from './probe.ts'
import { checkRoot, errorWithin } from './reach.ts'
import { readingOf } from './reading/reading.ts'
import { closed, createReadings } from './reading/readings.ts'
import { RecentLooks } from './reading/recent-looks.ts'
import { isSettled, readWhole, SMALL, SmallFiles, smallReading } from './reading/small-files.ts'
import { listIn, openIn, statIn, type Tree } from './reading/tree.ts'
import { takeSnapshot } from './snapshot.ts'

/** The storage backend on a local disk. */
export class LocalBackend implements StorageBackend {
  readonly supports: StorageCapabilities
  readonly snapshot?: (signal: AbortSignal) => Promise<StorageSnapshot>
  readonly #store: Store
  readonly #rootPath: string
  readonly #tree: Tree
  readonly #smallFiles: SmallFiles
  readonly #readings = createReadings()
  readonly #gate: ChangeGate = createChangeGate()
  readonly #closing = new AbortController()
  readonly #snapshots = new Set<StorageSnapshot>()
  readonly #calls = new Set<Promise<unknown>>()
  readonly #release: () => Promise<void>
  #closed: Promise<void> | undefined

  /** @param release gives back what the store holds, after everything has ended */
  constructor(
    store: Store,
    settings: { rootPath: string; durable: boolean; cacheBytes: number },
    release: () => Promise<void>,
  ) {
    this.#store = store
    this.#rootPath = settings.rootPath
    this.#tree = {
      disk: store.disk,
      root: store.root,
      readings: this.#readings,
      looks: new RecentLooks(),
    }
    this.#smallFiles = new SmallFiles(store.disk, store.root, settings.cacheBytes)
    this.#release = release
    this.supports = { atomicMove: true, durable: settings.durable, snapshot: store.hasLinks }
    if (store.hasLinks) this.snapshot = (signal) => this.#call(() => this.#takeSnapshot(signal))
  }

  probe(signal: AbortSignal): Promise<void> {
    return this.#call(() => probe(this.#store, this.#rootPath, signal))
  }

  stat(path: string): Promise<StorageEntry> {
    return this.#call(() => statIn(this.#tree, path))
  }

  list(path: string): AsyncIterable<StorageEntry> {
    return this.#guarded(listIn(this.#tree, path))
  }

  read(path: string, options: StorageReadOptions = {}): Promise<StorageReading> {
    return this.#call(() => this.#read(path, options))
  }

  write(
    path: string,
    content: AsyncIterable<Uint8Array>,
    options: StorageWriteOptions = {},
  ): Promise<StorageEntry> {
    return this.#call(async () => {
      const { signal } = options
      signal?.throwIfAborted()
      const signals = signal === undefined ? [this.#closing.signal] : [this.#closing.signal, signal]
      const names = changeable(path)
      const change = this.#gate.change
      const entry = await writeFile(this.#store, { names, content, options, signals, change })
      this.#smallFiles.forget(path)
      return entry
    })
  }

  makeDirectory(path: string): Promise<void> {
    return this.#call(async () => {
      const { disk, root, syncs, room } = this.#store
      const names = namesOf(path)
      const make = async () => {
        const reached = await walk(disk, root, names)
        try {
          if (reached.missing.length === 0) await syncs.settle(names.slice(0, -1), reached.folder)
          else await room.check(undefined, [this.#closing.signal])
        } finally {
          reached.folder.close()
        }
        return placeFolders(this.#store, reached)
      }
      await this.#gate.change(() => persist(make))
    })
  }

  remove(path: string, options: StorageRemoveOptions = {}): Promise<void> {
    return this.#call(async () => {
      const names = changeable(path)
      const change = () => this.#gate.change(() => remove(this.#store, names, options))
      await this.#store.locks.hold([names.join('/')], change)
      this.#smallFiles.forget(path)
    })
  }

  move(source: string, destination: string, options: { readonly overwrite?: boolean } = {}): Promise<void> {
    return this.#call(async () => {
      const [from, to] = [changeable(source), changeable(destination)]
      const change = () => this.#gate.change(() => move(this.#store, from, to, options.overwrite ?? false))
      await this.#store.locks.hold([from.join('/'), to.join('/')], change)
      this.#smallFiles.forget(source)
    })
  }

  /** Gives up what is still being received or read, and waits for everything else. */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    this.#closing.abort(closed())
    await this.#readings.end()
    while (this.#calls.size > 0) await Promise.allSettled(this.#calls)
    await Promise.allSettled([...this.#snapshots].map((snapshot) => snapshot.release()))
    await this.#release()
  }

  async #read(path: string, options: StorageReadOptions): Promise<StorageReading> {
    options.signal?.throwIfAborted()
    const kept = await this.#smallFiles.read(path, options)
    if (kept !== undefined) return kept
    const file = await openIn(this.#tree, path)
    if (file.entry.size > SMALL) return readingOf(file, options, this.#readings)
    try {
      const settled = isSettled(file.stats)
      const bytes = await readWhole(file)
      if (settled && file.stored === file.entry.name) this.#smallFiles.keep(path, file, bytes)
      return smallReading(file.entry, bytes, options)
    } finally {
      file.disk.closeSync(file.fd)
    }
  }

  async #takeSnapshot(signal: AbortSignal): Promise<StorageSnapshot> {
    const raw = await this.#gate.still(() => takeSnapshot(this.#store, this.#readings, signal))
    this.#snapshots.add(raw)
    return {
      list: (path) => this.#guarded(raw.list(path)),
      read: (path, options) => this.#call(() => raw.read(path, options)),
      release: () =>
        this.#call(async () => {
          this.#snapshots.delete(raw)
          await raw.release()
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
      throw errorWithin(this.#store, error)
    }
  }

  async #call<T>(run: () => Promise<T>): Promise<T> {
    this.#closing.signal.throwIfAborted()
    const call = run()
    this.#calls.add(call)
    try {
      return await call
    } catch (error) {
      throw errorWithin(this.#store, error)
    } finally {
      this.#calls.delete(call)
    }
  }
}

function changeable(path: string): string[] {
  const names = namesOf(path)
  if (names.length === 0) throw rootStays()
  return names
}
