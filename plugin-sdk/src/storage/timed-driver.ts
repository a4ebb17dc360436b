import type { StorageEntry, StorageListEntry } from '../contracts/storage.ts'
import type {
  StorageDriver,
  StorageDriverCallOptions,
  StorageDriverCopyOptions,
  StorageDriverListOptions,
  StorageDriverMoveOptions,
  StorageDriverReading,
  StorageDriverReadOptions,
  StorageDriverRemoveOptions,
  StorageDriverStaged,
  StorageDriverWriteOptions,
} from '../contracts/storage-driver.ts'
import { DriverCall } from './driver-call.ts'

type Files = Pick<StorageDriver, 'stat' | 'list' | 'open'>

/** The calls of a driver or of its snapshot that read, each with a limit of time. */
class TimedFiles implements Files {
  readonly #files: Files
  readonly #limitMs: number

  /** @param limitMs the milliseconds in which a call must make progress */
  constructor(files: Files, limitMs: number) {
    this.#files = files
    this.#limitMs = limitMs
  }

  async stat(path: string, options: StorageDriverCallOptions): Promise<StorageEntry> {
    using call = new DriverCall(options.signal, this.#limitMs)
    return await call.wait(this.#files.stat(path, withSignal(call, options)))
  }

  async *list(
    path: string,
    options: StorageDriverListOptions,
  ): AsyncGenerator<StorageListEntry, void, undefined> {
    using call = new DriverCall(options.signal, this.#limitMs)
    yield* timedItems(this.#files.list(path, withSignal(call, options)), call)
  }

  async open(path: string, options: StorageDriverReadOptions): Promise<StorageDriverReading> {
    const call = new DriverCall(options.signal, this.#limitMs)
    let isReading = false
    try {
      const reading = await call.wait(this.#files.open(path, withSignal(call, options)))
      if (reading.content instanceof Uint8Array) return reading
      isReading = true
      return { ...reading, content: timedContent(reading.content, call) }
    } finally {
      // The call of a content ends with it.
      if (!isReading) call[Symbol.dispose]()
    }
  }
}

/** A driver whose calls fail with SERVICE_UNAVAILABLE when the driver makes no progress for some time. Snapshots have no limit. */
export class TimedDriver extends TimedFiles implements StorageDriver {
  readonly plainFolder?: string
  readonly move?: Required<StorageDriver>['move']
  readonly copy?: Required<StorageDriver>['copy']
  readonly snapshot?: Required<StorageDriver>['snapshot']
  readonly prepareSnapshot?: Required<StorageDriver>['prepareSnapshot']
  readonly watch?: Required<StorageDriver>['watch']
  readonly storageId?: Required<StorageDriver>['storageId']
  readonly space?: Required<StorageDriver>['space']
  readonly #driver: StorageDriver
  readonly #limitMs: number

  /** @param limitMs the milliseconds in which a call must make progress */
  constructor(driver: StorageDriver, limitMs: number) {
    super(driver, limitMs)
    this.#driver = driver
    this.#limitMs = limitMs
    if (driver.plainFolder !== undefined) this.plainFolder = driver.plainFolder
    if (driver.move) this.move = (source, destination, options) => this.#move(source, destination, options)
    if (driver.copy) this.copy = (source, destination, options) => this.#copy(source, destination, options)
    if (driver.snapshot) this.snapshot = driver.snapshot.bind(driver)
    if (driver.prepareSnapshot) this.prepareSnapshot = driver.prepareSnapshot.bind(driver)
    if (driver.watch) this.watch = driver.watch.bind(driver)
    const { storageId } = driver
    if (storageId) {
      this.storageId = async (signal) => {
        using call = new DriverCall(signal, limitMs)
        return await call.wait(storageId.call(driver, call.signal))
      }
    }
    const { space } = driver
    if (space) {
      this.space = async (signal) => {
        using call = new DriverCall(signal, limitMs)
        return await call.wait(space.call(driver, call.signal))
      }
    }
  }

  get supports(): StorageDriver['supports'] {
    return this.#driver.supports
  }

  async probe(signal: AbortSignal): Promise<void> {
    using call = new DriverCall(signal, this.#limitMs)
    await call.wait<unknown>(
      this.#driver.probe?.(call.signal) ?? this.#driver.stat('/', withSignal(call, {})),
    )
  }

  async write(
    path: string,
    content: AsyncIterable<Uint8Array>,
    options: StorageDriverWriteOptions,
  ): Promise<StorageEntry> {
    using call = new DriverCall(options.signal, this.#limitMs)
    const counted = new CountedContent(content, call)
    return await call.wait(
      this.#driver.write(
        path,
        counted.chunks(),
        changeOptions(call, options, () => counted.bytes),
      ),
    )
  }

  async makeDirectory(path: string, options: StorageDriverCallOptions): Promise<void> {
    using call = new DriverCall(options.signal, this.#limitMs)
    await call.wait(this.#driver.makeDirectory(path, withSignal(call, options)))
  }

  async remove(path: string, options: Omit<StorageDriverRemoveOptions, 'progress'>): Promise<void> {
    using call = new DriverCall(options.signal, this.#limitOfTrees)
    await call.wait(
      this.#driver.remove(path, withSignal(call, { ...options, progress: () => call.resume() })),
    )
  }

  close(): Promise<void> {
    return this.#driver.close()
  }

  async #move(source: string, destination: string, options: StorageDriverMoveOptions): Promise<void> {
    using call = new DriverCall(options.signal, this.#limitOfTrees)
    const { move } = this.#driver as Required<StorageDriver>
    await call.wait(move.call(this.#driver, source, destination, withSignal(call, options)))
  }

  async #copy(source: string, destination: string, options: StorageDriverCopyOptions): Promise<StorageEntry> {
    using call = new DriverCall(options.signal, this.#limitMs)
    const { size } = options
    const copied = (this.#driver as Required<StorageDriver>).copy(
      source,
      destination,
      changeOptions(call, options, () => size),
    )
    return await call.wait(copied, size)
  }

  /** A removal or a move in one step may remove a whole folder in the driver, which takes as long as the folder is large. */
  get #limitOfTrees(): number {
    return this.supports.atomicFolders ? Number.POSITIVE_INFINITY : this.#limitMs
  }
}

/** The content of a write for the driver. The wait for the next chunk is one for the caller. */
class CountedContent {
  readonly #content: AsyncIterable<Uint8Array>
  readonly #call: DriverCall
  bytes = 0

  constructor(content: AsyncIterable<Uint8Array>, call: DriverCall) {
    this.#content = content
    this.#call = call
  }

  async *chunks(): AsyncGenerator<Uint8Array, void, undefined> {
    this.#call.pause()
    try {
      for await (const chunk of this.#content) {
        this.bytes += chunk.length
        this.#call.resume()
        yield chunk
        this.#call.pause()
      }
    } finally {
      this.#call.resume(this.bytes)
    }
  }
}

/** @param bytes returns how many bytes the driver has to bring to its disk after `beforeCommit` */
function changeOptions<Options extends Pick<StorageDriverWriteOptions, 'beforeCommit'>>(
  call: DriverCall,
  options: Options,
  bytes: () => number,
) {
  const beforeCommit = async (staged: StorageDriverStaged) => {
    call.pause()
    try {
      await options.beforeCommit(staged)
    } finally {
      call.resume(bytes())
    }
  }
  return withSignal(call, { ...options, beforeCommit })
}

async function* timedContent(
  content: AsyncIterable<Uint8Array>,
  call: DriverCall,
): AsyncGenerator<Uint8Array, void, undefined> {
  using _call = call
  yield* timedItems(content, call)
}

async function* timedItems<Item>(
  items: AsyncIterable<Item>,
  call: DriverCall,
): AsyncGenerator<Item, void, undefined> {
  const source = items[Symbol.asyncIterator]()
  let isOver = false
  try {
    for (let step = await call.wait(source.next()); !step.done; step = await call.wait(source.next()))
      yield step.value
    isOver = true
  } finally {
    if (!isOver && source.return !== undefined) await call.wait(source.return())
  }
}

function withSignal<Options extends object>(
  call: DriverCall,
  options: Options,
): Options & { readonly signal: AbortSignal } {
  return {
    ...options,
    get signal() {
      return call.signal
    },
  }
}
