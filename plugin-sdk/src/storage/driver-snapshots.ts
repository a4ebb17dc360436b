import type { ChangeGate } from '../concurrency/change-gate.ts'
import type { HaltedSnapshot, PreparedSnapshot } from '../contracts/prepared-snapshot.ts'
import type {
  StorageEntry,
  StorageListEntry,
  StorageReading,
  StorageReadOptions,
  StorageSnapshot,
} from '../contracts/storage.ts'
import type { StorageDriver, StorageDriverSnapshot } from '../contracts/storage-driver.ts'
import { conflict } from '../errors.ts'
import { driverError } from './driver-error.ts'

/** The parts of a backend that its snapshots use. */
interface BackendServices {
  readonly driver: StorageDriver
  /** The gate that the changes of the backend pass; null if the driver has one. */
  readonly gate: ChangeGate | null
  /** Runs a call that a close waits for. */
  call<T>(run: () => Promise<T>, signal?: AbortSignal): Promise<T>
  /** Returns a signal that aborts with the caller's, and when the backend closes. */
  endsWith(signal: AbortSignal): AbortSignal
  stat(files: StorageDriverSnapshot, path: string): Promise<StorageEntry>
  list(files: StorageDriverSnapshot, path: string): AsyncIterable<StorageListEntry>
  read(files: StorageDriverSnapshot, path: string, options?: StorageReadOptions): Promise<StorageReading>
}

/** The snapshots of a driver as the callers of its backend get them. Each is released once, at the latest by the close. */
export class DriverSnapshots {
  readonly #services: BackendServices
  /** Snapshots, prepared or taken, that are not released, and halts that have not ended. */
  readonly #held = new Set<{ release(): Promise<void> }>()

  constructor(services: BackendServices) {
    this.#services = services
  }

  async prepare(callersSignal: AbortSignal): Promise<PreparedSnapshot<StorageSnapshot>> {
    const { driver, call, endsWith } = this.#services
    const signal = endsWith(callersSignal)
    const prepared = await (driver.prepareSnapshot?.(signal) ?? this.#withoutPreparation(signal))
    this.#held.add(prepared)
    let isUsed = false
    return {
      halt: () =>
        call(async () => {
          signal.throwIfAborted()
          if (isUsed || !this.#held.has(prepared))
            throw conflict('The snapshot was halted or released before. Prepare another one.')
          isUsed = true
          return this.#halt(prepared, callersSignal, signal)
        }, callersSignal),
      release: () => this.#release(prepared),
    }
  }

  /** Releases all that are left, when no call runs any more. */
  async releaseAll(): Promise<void> {
    const held = [...this.#held]
    this.#held.clear()
    // A halt ends before its prepared snapshot is released.
    for (const each of held.reverse()) await each.release().catch(() => {})
  }

  /** The snapshot of a driver that has `snapshot` instead of `prepareSnapshot`. */
  #withoutPreparation(signal: AbortSignal): PreparedSnapshot<StorageDriverSnapshot> {
    const { driver, gate } = this.#services
    return {
      async halt() {
        const halt = await (gate as ChangeGate).halt(signal)
        return {
          fix: () => (driver as Required<StorageDriver>).snapshot(),
          [Symbol.asyncDispose]: async () => halt[Symbol.dispose](),
        }
      },
      release: async () => {},
    }
  }

  /** @param signal aborts with the caller's, and when the backend closes; it ends the halt */
  async #halt(
    prepared: PreparedSnapshot<StorageDriverSnapshot>,
    callersSignal: AbortSignal,
    signal: AbortSignal,
  ): Promise<HaltedSnapshot<StorageSnapshot>> {
    const halted = await prepared.halt()
    let end: Promise<void> | undefined
    const goOn = async () => {
      signal.removeEventListener('abort', abort)
      try {
        await halted[Symbol.asyncDispose]()
      } catch (error) {
        throw driverError(error)
      } finally {
        this.#held.delete(held)
      }
    }
    const held = {
      release(): Promise<void> {
        end ??= goOn()
        return end
      },
    }
    const abort = () => void held.release().catch(() => {})
    this.#held.add(held)
    signal.addEventListener('abort', abort)
    if (signal.aborted) {
      await held.release()
      throw signal.reason
    }
    const refuseIfEnded = () => {
      signal.throwIfAborted()
      if (end !== undefined) throw conflict('The halt of the snapshot has ended. Prepare another one.')
    }
    const fix = async () => {
      refuseIfEnded()
      if (!this.#held.has(prepared))
        throw conflict('The snapshot was taken or released before. Prepare another one.')
      const snapshot = await halted.fix()
      this.#held.delete(prepared)
      this.#held.add(snapshot)
      try {
        // Changes may have gone on meanwhile. The snapshot then shows several moments.
        refuseIfEnded()
        return this.#viewOf(snapshot)
      } catch (error) {
        this.#held.delete(snapshot)
        await snapshot.release()
        throw error
      }
    }
    return { fix: () => this.#services.call(fix, callersSignal), [Symbol.asyncDispose]: () => held.release() }
  }

  #viewOf(snapshot: StorageDriverSnapshot): StorageSnapshot {
    const { call, read } = this.#services
    return {
      omitted: snapshot.omitted ?? [],
      get changed() {
        return snapshot.changed ?? []
      },
      list: (path) => this.#list(snapshot, path),
      read: (path, options) => read(snapshot, path, options),
      ...(snapshot.link && {
        link: (path, to) => call(async () => (await snapshot.link?.(path, to)) ?? false),
      }),
      release: () => this.#release(snapshot),
    }
  }

  /** Backups need what a driver may leave out of its listings. */
  async *#list(snapshot: StorageDriverSnapshot, path: string): AsyncGenerator<StorageEntry, void, undefined> {
    const { stat, list } = this.#services
    for await (const entry of list(snapshot, path)) {
      if (isWhole(entry)) yield entry
      else yield await stat(snapshot, `${path === '/' ? '' : path}/${entry.name}`)
    }
  }

  async #release(snapshot: { release(): Promise<void> }): Promise<void> {
    if (this.#held.delete(snapshot)) await this.#services.call(() => snapshot.release())
  }
}

function isWhole(entry: StorageListEntry): entry is StorageEntry {
  return entry.created !== undefined && entry.revision !== undefined
}
