import { ChangeGate } from '../concurrency/change-gate.ts'
import { InFlight } from '../concurrency/in-flight.ts'
import { type LinkedSignal, linkSignals } from '../concurrency/linked-signal.ts'
import { untilAborted } from '../concurrency/until-aborted.ts'
import { lackingAbility } from '../contracts/lacking-ability.ts'
import type {
  StorageBackend,
  StorageConditions,
  StorageCopyOptions,
  StorageEntry,
  StorageListEntry,
  StorageListOptions,
  StorageMakeDirectoryOptions,
  StorageMoveOptions,
  StorageReading,
  StorageReadOptions,
  StorageRemoveOptions,
  StorageReplacement,
  StorageStatOptions,
  StorageWriteOptions,
} from '../contracts/storage.ts'
import type {
  StorageDriver,
  StorageDriverCapabilities,
  StorageDriverStaged,
} from '../contracts/storage-driver.ts'
import { conflict, isNodekeepError, NodekeepError } from '../errors.ts'
import { lackingMethod } from '../service.ts'
import { CallerUntilCommit } from './caller-until-commit.ts'
import {
  checkCopied,
  checkMakeDirectory,
  checkMove,
  checkRemove,
  checkWrite,
  findEntry,
  refuseOverlap,
} from './conditions.ts'
import {
  ContentOfBytes,
  ContentOfRead,
  rangeOf,
  rangeOfBytes,
  refusedRange,
  startsTooLate,
} from './content-of-read.ts'
import { ContentOfWrite } from './content-of-write.ts'
import { CallerError, driverError } from './driver-error.ts'
import { DriverSnapshots } from './driver-snapshots.ts'
import { isWritable, withWritableTimes } from './entry-times.ts'
import { TimedDriver } from './timed-driver.ts'

/**
 * Makes a storage backend of a driver. The backend does what all storages have in common, so that a driver does not: it checks
 * conditions, moves and ranges, cuts contents, counts bytes, ends what runs when a signal aborts or the backend closes, and
 * gives each failure the code of the table at {@link StorageBackend}.
 *
 * @throws TypeError for a driver that lacks a part
 * @example
 * const backend = createStorageBackend(new AcmeDriver(config.bucket))
 * onStop(() => backend.close())
 * backends.add('acme', backend)
 */
export function createStorageBackend(
  driver: StorageDriver,
  { timeLimitMs = 30_000 }: StorageBackendOptions = {},
): StorageBackend {
  const calls = ['stat', 'list', 'open', 'write', 'makeDirectory', 'remove', 'close'] as const
  const lacks = lackingAbility(driver) ?? lackingMethod(driver, ...calls)
  if (lacks !== null) throw new TypeError(`The driver of a storage backend ${lacks}.`)
  return new DriverBackend(
    timeLimitMs === Number.POSITIVE_INFINITY ? driver : new TimedDriver(driver, timeLimitMs),
  )
}

/** How a backend calls its driver. */
interface StorageBackendOptions {
  /**
   * Milliseconds in which each step of a call must make progress, as {@link StorageDriver} says. `Infinity` for a storage that waits for
   * no server: its calls cost less then. Default: 30,000
   */
  readonly timeLimitMs?: number
}

/** Options of the last check of a write or a copy. */
interface LastCheckOptions
  extends StorageConditions,
    StorageReplacement,
    Pick<StorageWriteOptions, 'known' | 'beforeCommit'> {
  /** The number of bytes that the file has. */
  readonly size: number
  /** Whether the driver checks the conditions. */
  readonly isChecked: boolean
  readonly signal: AbortSignal
}

/** The progress of a removal counts only where a call has a limit of time. */
const progress = () => {}

class DriverBackend implements StorageBackend {
  readonly move?: Required<StorageBackend>['move']
  readonly copy?: Required<StorageBackend>['copy']
  readonly plainFolder?: string
  readonly prepareSnapshot?: Required<StorageBackend>['prepareSnapshot']
  readonly watch?: Required<StorageBackend>['watch']
  readonly storageId?: Required<StorageBackend>['storageId']
  readonly space?: Required<StorageBackend>['space']
  readonly #driver: StorageDriver
  readonly #closing = new AbortController()
  /** The end of calls whose callers give no signal. */
  readonly #end: LinkedSignal = { signal: this.#closing.signal, [Symbol.dispose]: () => {} }
  readonly #calls = new InFlight<Promise<unknown>>()
  readonly #contents = new InFlight<ContentOfRead>()
  /** Null if nothing halts changes, or the driver does it itself. */
  readonly #gate: ChangeGate | null
  readonly #snapshots: DriverSnapshots
  #closed: Promise<void> | undefined

  constructor(driver: StorageDriver) {
    this.#driver = driver
    this.#gate = driver.snapshot && !driver.prepareSnapshot ? new ChangeGate() : null
    this.#snapshots = new DriverSnapshots({
      driver,
      gate: this.#gate,
      call: (run, signal) => this.#call(run, signal),
      endsWith: (signal) => this.#endsWith(signal),
      stat: (files, path) => this.#stat(files, path),
      list: (files, path) => this.#list(files, path),
      read: (files, path, options = {}) => this.#call(() => this.#read(files, path, options), options.signal),
    })
    if (driver.move)
      this.move = (source, destination, options = {}) =>
        this.#change(() => this.#move(source, destination, options))
    if (driver.copy) {
      this.copy = (source, destination, options = {}) =>
        this.#call(
          () => this.#changeLate((begin) => this.#copy(source, destination, options, begin)),
          options.signal,
        )
    }
    if (driver.plainFolder !== undefined) this.plainFolder = driver.plainFolder
    if (driver.snapshot || driver.prepareSnapshot)
      this.prepareSnapshot = (signal) => this.#call(() => this.#snapshots.prepare(signal), signal)
    if (driver.watch)
      this.watch = (listener, signal) => this.#call(() => this.#watch(listener, signal), signal)
    const { storageId } = driver
    if (storageId)
      this.storageId = (signal) =>
        this.#call(async () => {
          using end = this.#endOf(signal)
          return storageId.call(driver, end.signal)
        }, signal)
    const { space } = driver
    if (space)
      this.space = (signal) =>
        this.#call(async () => {
          using end = this.#endOf(signal)
          return space.call(driver, end.signal)
        }, signal)
  }

  /** A driver may learn what its storage can. */
  get supports(): StorageDriverCapabilities {
    const { supports } = this.#driver
    return this.#keepsCopies ? { ...supports, keepsReplaced: true } : supports
  }

  /**
   * Whether the backend copies files before the driver replaces them. A driver with `prepareSnapshot` may have a lock that the replacing change
   * holds, and that the copy would wait for.
   */
  get #keepsCopies(): boolean {
    const { copy, prepareSnapshot, supports } = this.#driver
    const { atomicFolders = false, keepsReplaced } = supports
    return keepsReplaced === undefined && copy !== undefined && !atomicFolders && !prepareSnapshot
  }

  probe(signal: AbortSignal): Promise<void> {
    return this.#call(async () => {
      using end = this.#endOf(signal)
      const { signal: endSignal } = end
      const probed = this.#driver.probe?.(endSignal) ?? this.#driver.stat('/', { signal: endSignal })
      await untilAborted<unknown>(probed, signal)
    }, signal)
  }

  stat(path: string, { signal }: StorageStatOptions = {}): Promise<StorageEntry> {
    return this.#stat(this.#driver, path, signal)
  }

  list(path: string, options?: StorageListOptions): AsyncIterable<StorageListEntry> {
    return this.#list(this.#driver, path, options)
  }

  read(path: string, options: StorageReadOptions = {}): Promise<StorageReading> {
    return this.#call(() => this.#read(this.#driver, path, options), options.signal)
  }

  write(
    path: string,
    content: AsyncIterable<Uint8Array>,
    options: StorageWriteOptions = {},
  ): Promise<StorageEntry> {
    return this.#call(
      () => this.#changeLate((begin) => this.#write(path, content, options, begin)),
      options.signal,
    )
  }

  makeDirectory(path: string, options: StorageMakeDirectoryOptions = {}): Promise<void> {
    return this.#change(async () => {
      const files = this.#filesUntil(this.#end.signal)
      if (!this.supports.atomicConditions && (await checkMakeDirectory(files, path, options))) return
      await this.#driver.makeDirectory(path, { signal: this.#end.signal })
    })
  }

  remove(path: string, options: StorageRemoveOptions = {}): Promise<void> {
    return this.#change(async () => {
      if (path === '/') throw conflict('The root cannot be removed. Remove the files and folders in it.')
      const { signal } = this.#end
      const { known, ...conditions } = options
      if (this.supports.atomicConditions)
        return this.#driver.remove(path, { ...conditions, signal, progress })
      const { type } = await checkRemove(this.#filesUntil(signal), path, options)
      const { onlyIfEmpty = false } = options
      await this.#driver.remove(path, { type, ...(onlyIfEmpty && { onlyIfEmpty }), signal, progress })
    })
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    const reason = new NodekeepError(
      'SERVICE_UNAVAILABLE',
      'The storage is closed. Start it again to use it.',
    )
    this.#closing.abort(reason)
    while (this.#calls.size + this.#contents.size > 0) {
      const ended = [...this.#contents].map((content) => content.fail(reason))
      await Promise.allSettled([...this.#calls, ...ended])
    }
    await this.#snapshots.releaseAll()
    await this.#driver.close()
  }

  /** Runs a change. It waits while a snapshot halts changes. */
  #change(change: () => Promise<void>): Promise<void> {
    return this.#call(() => (this.#gate === null ? change() : this.#gate.runShared(change)))
  }

  /** Runs work that becomes a change when it calls `begin`. */
  #changeLate<T>(work: (begin: () => Promise<void>) => Promise<T>): Promise<T> {
    return this.#gate === null ? work(async () => {}) : this.#gate.runLate(work)
  }

  /** Runs a call that a close waits for. */
  async #call<T>(run: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    this.#closing.signal.throwIfAborted()
    signal?.throwIfAborted()
    let call: Promise<T> | undefined
    try {
      call = run()
      this.#calls.add(call)
      return await call
    } catch (error) {
      if (error instanceof CallerError) throw error.reason
      if (signal?.aborted) throw signal.reason
      throw driverError(error)
    } finally {
      if (call !== undefined) this.#calls.delete(call)
    }
  }

  #stat(files: Pick<StorageDriver, 'stat'>, path: string, signal?: AbortSignal): Promise<StorageEntry> {
    return this.#call(async () => {
      using end = this.#endOf(signal)
      return withWritableTimes(await files.stat(path, { signal: end.signal }))
    }, signal)
  }

  async *#list(
    files: Pick<StorageDriver, 'stat' | 'list'>,
    path: string,
    { after, signal: callersSignal }: StorageListOptions = {},
  ): AsyncGenerator<StorageListEntry, void, undefined> {
    this.#closing.signal.throwIfAborted()
    callersSignal?.throwIfAborted()
    using end = this.#endOf(callersSignal)
    const { signal } = end
    let isEmpty = true
    try {
      for await (const entry of files.list(path, { signal, ...(after !== undefined && { after }) })) {
        isEmpty = false
        if (after !== undefined && entry.name <= after) continue
        yield withWritableTimes(entry)
        signal.throwIfAborted()
      }
      if (isEmpty && (await files.stat(path, { signal })).type === 'file')
        throw conflict('This is a file. Only a folder has entries.')
    } catch (error) {
      if (callersSignal?.aborted) throw callersSignal.reason
      throw driverError(error)
    }
  }

  async #read(
    files: Pick<StorageDriver, 'stat' | 'open'>,
    path: string,
    { start, end, reuseBuffers = false, signal }: StorageReadOptions,
  ): Promise<StorageReading> {
    // Storages and streams fail in ways of their own on a range that no file can have, so a driver never gets one.
    const isImpossible = rangeOf(Number.MAX_SAFE_INTEGER, start, end) === null
    const link = this.#endOf(signal)
    let content: ContentOfRead | undefined
    try {
      if (isImpossible) throw refusedRange(await files.stat(path, { signal: link.signal }))
      const reading = await files.open(path, { start: start ?? 0, end, signal: link.signal })
      const entry = withWritableTimes(reading.entry)
      const { size, type } = entry
      const range = type === 'file' ? rangeOf(size, start, end) : null
      const first = range?.first ?? 0
      const skipped = first - (reading.start ?? first)
      const copies = !reuseBuffers
      if (reading.content instanceof Uint8Array) {
        if (range === null) throw refusedRange(entry)
        const bytes = rangeOfBytes(reading.content, skipped, range.length)
        const signals = [this.#closing.signal, ...(signal ? [signal] : [])]
        return { entry, content: new ContentOfBytes(copies ? new Uint8Array(bytes) : bytes, signals) }
      }
      const abort = () => void opened.fail(signal?.reason)
      const opened = new ContentOfRead(reading.content, {
        skipped,
        length: range === null ? 0 : range.length,
        copies,
        onClose: () => {
          this.#contents.delete(opened)
          link[Symbol.dispose]()
          signal?.removeEventListener('abort', abort)
        },
      })
      content = opened
      this.#contents.add(opened)
      if (range === null) {
        await opened.return()
        throw refusedRange(entry)
      }
      if (skipped < 0) void opened.fail(startsTooLate())
      if (signal?.aborted) abort()
      else signal?.addEventListener('abort', abort)
      return { entry, content: opened }
    } finally {
      // The link of a content ends with it.
      if (content === undefined) link[Symbol.dispose]()
    }
  }

  async #write(
    path: string,
    source: AsyncIterable<Uint8Array>,
    options: StorageWriteOptions,
    begin: () => Promise<void>,
  ): Promise<StorageEntry> {
    if (path === '/') throw conflict('The root is a folder. Write a file in it.')
    const { size, freeChunks = false, known } = options
    // Read once: the abilities of a driver may change meanwhile.
    const { atomicConditions = false, conditionalWrites = false } = this.supports
    const isChecked = atomicConditions || conditionalWrites
    using caller = new CallerUntilCommit(options.signal)
    using end = this.#endOf(caller.signal)
    const { signal } = end
    if (!isChecked) await checkWrite(this.#filesUntil(signal), path, options)
    const content = new ContentOfWrite(source, { size, copies: !freeChunks, signal })
    const beforeCommit = async (staged: StorageDriverStaged) => {
      try {
        await begin()
        if (!content.hasEnded) throw driverError(new Error('The driver did not read the content to its end.'))
        const { size: stored } = content
        const lastCheck = { ...options, size: stored, isChecked, signal }
        const replaced = await this.#beforeCommit(path, staged, lastCheck)
        caller.commit()
        await this.#keepCopy(path, replaced, options, signal)
      } catch (error) {
        content.fail(error)
        throw error
      }
    }
    try {
      const entry = await this.#driver.write(path, content, {
        signal,
        beforeCommit,
        ...(size !== undefined && { size }),
        ...(conditionalWrites && known && { known }),
        ...this.#optionsOfChange(options, isChecked),
      })
      if (content.failure === null) return withWritableTimes(entry)
    } catch (error) {
      if (content.failure === null) throw caller.hasCommitted ? new CallerError(driverError(error)) : error
    } finally {
      content.end()
    }
    throw new CallerError(content.failure.reason)
  }

  async #move(source: string, destination: string, options: StorageMoveOptions): Promise<void> {
    refuseOverlap(source, destination)
    const { signal } = this.#end
    const files = this.#filesUntil(signal)
    await checkMove(files, source, destination, options, this.supports)
    const { known, overwrite, keepReplacedAt } = options
    if (overwrite && keepReplacedAt !== undefined && this.#keepsCopies) {
      const replaced =
        known?.destination === undefined ? await findEntry(files, destination) : known.destination
      await this.#keepCopy(destination, replaced, options, signal)
    }
    await (this.#driver as Required<StorageDriver>).move(source, destination, {
      signal,
      ...(this.supports.atomicConditions && overwrite !== undefined && { overwrite }),
      ...this.#keepOption(options),
    })
  }

  async #copy(
    source: string,
    destination: string,
    options: StorageCopyOptions,
    begin: () => Promise<void>,
  ): Promise<StorageEntry> {
    refuseOverlap(source, destination)
    const { atomicConditions = false } = this.supports
    using caller = new CallerUntilCommit(options.signal)
    using end = this.#endOf(caller.signal)
    const { signal } = end
    const files = this.#filesUntil(signal)
    const { known } = options
    const { size, revision } = await checkCopied(files, source, options.ifSourceRevision, known)
    if (!atomicConditions) await checkWrite(files, destination, options)
    let failure: CallerError | null = null
    const beforeCommit = async (staged: StorageDriverStaged) => {
      try {
        await begin()
        if (!atomicConditions) await checkCopied(files, source, revision, known)
        const lastCheck = { ...options, size, isChecked: atomicConditions, signal }
        const replaced = await this.#beforeCommit(destination, staged, lastCheck)
        caller.commit()
        await this.#keepCopy(destination, replaced, options, signal)
      } catch (error) {
        failure ??= new CallerError(error)
        throw error
      }
    }
    try {
      const entry = await (this.#driver as Required<StorageDriver>).copy(source, destination, {
        signal,
        size,
        beforeCommit,
        ...(atomicConditions && { ifSourceRevision: revision }),
        ...this.#optionsOfChange(options, atomicConditions),
      })
      if (failure === null) return withWritableTimes(entry)
    } catch (error) {
      throw failure ?? (caller.hasCommitted ? new CallerError(driverError(error)) : error)
    }
    throw failure
  }

  /**
   * Returns the options of a write or a copy that its driver gets as they are.
   *
   * @param isChecked whether the driver checks the conditions
   */
  #optionsOfChange(options: StorageCopyOptions, isChecked: boolean) {
    const { modified, ifRevision, ifAbsent } = options
    const { modified: setsModified = false } = this.supports
    return {
      ...(setsModified && modified && isWritable(modified) && modified <= new Date() && { modified }),
      ...(isChecked && ifRevision !== undefined && { ifRevision }),
      ...(isChecked && ifAbsent !== undefined && { ifAbsent }),
      ...this.#keepOption(options),
    }
  }

  #keepOption({ keepReplacedAt }: StorageReplacement): StorageReplacement {
    return this.#driver.supports.keepsReplaced && keepReplacedAt !== undefined ? { keepReplacedAt } : {}
  }

  /**
   * Copies the file that is about to be replaced, for a driver that does not keep it itself.
   *
   * @param entry what is replaced; null for nothing
   */
  async #keepCopy(
    path: string,
    entry: StorageEntry | null,
    { keepReplacedAt }: StorageReplacement,
    signal: AbortSignal,
  ): Promise<void> {
    if (!this.#keepsCopies || keepReplacedAt === undefined || entry?.type !== 'file') return
    const { size, revision, modified } = entry
    const { atomicConditions = false } = this.supports
    try {
      await (this.#driver as Required<StorageDriver>).copy(path, keepReplacedAt, {
        signal,
        size,
        kept: entry,
        beforeCommit: async () => {},
        ...(atomicConditions && { ifSourceRevision: revision }),
        ...this.#optionsOfChange({ modified }, atomicConditions),
      })
    } catch (error) {
      // Another program has just removed the file, so nothing is replaced.
      if (isNodekeepError(error) && error.code === 'NOT_FOUND') return
      throw driverError(error)
    }
  }

  /**
   * The last check of a write or a copy. Its errors, and those of the caller's `beforeCommit`, reach the caller unchanged.
   *
   * @returns the entry that is replaced, if somebody needs it
   */
  async #beforeCommit(
    path: string,
    { revision, replaced }: StorageDriverStaged,
    { size, isChecked, signal, ...options }: LastCheckOptions,
  ): Promise<StorageEntry | null> {
    signal.throwIfAborted()
    const files = this.#filesUntil(signal)
    let found = replaced
    if (!isChecked) found = await checkWrite(files, path, options)
    const { beforeCommit, keepReplacedAt } = options
    const isNeeded = beforeCommit !== undefined || (this.#keepsCopies && keepReplacedAt !== undefined)
    if (!isNeeded) return null
    if (found === undefined) found = await findEntry(files, path)
    const entry = found && withWritableTimes(found)
    await beforeCommit?.({ revision, size, replaced: entry })
    signal.throwIfAborted()
    return entry
  }

  async #watch(listener: (path: string) => void, callersSignal: AbortSignal): Promise<void> {
    const signal = this.#endsWith(callersSignal)
    const hint = (path: string) => {
      if (!signal.aborted) listener(path)
    }
    await (this.#driver as Required<StorageDriver>).watch(hint, signal)
    signal.throwIfAborted()
  }

  /** The calls of the driver that tell whether a change is possible. */
  #filesUntil(signal: AbortSignal) {
    return {
      stat: (path: string) => this.#driver.stat(path, { signal }),
      list: (path: string) => this.#driver.list(path, { signal }),
    }
  }

  /** Returns a signal that aborts with the caller's, and when the backend closes, for as long as a call runs. */
  #endOf(signal: AbortSignal | undefined): LinkedSignal {
    if (signal === undefined) return this.#end
    return linkSignals(this.#closing.signal, signal)
  }

  /** Like `#endOf`, for a watch or a snapshot, which last long. */
  #endsWith(signal: AbortSignal): AbortSignal {
    return AbortSignal.any([signal, this.#closing.signal])
  }
}
