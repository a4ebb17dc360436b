import type { ChangeGate } from '../concurrency/change-gate.ts'
import { untilAborted } from '../concurrency/until-aborted.ts'
import type { PreparedSnapshot } from '../contracts/prepared-snapshot.ts'
import type {
  StorageEntry,
  StorageReading,
  StorageReadOptions,
  StorageSnapshot,
} from '../contracts/storage.ts'
import type { StorageDriver, StorageDriverSnapshot } from '../contracts/storage-driver.ts'
import { conflict } from '../errors.ts'
import { driverError, Passed } from './driver-error.ts'

/** The parts of a backend that its snapshots use. */
interface BackendParts {
  readonly driver: StorageDriver
  /** The gate that the changes of the backend pass. */
  readonly gate: ChangeGate
  /** Runs a call that a close waits for. */
  call<T>(run: () => Promise<T>, signal?: AbortSignal): Promise<T>
  /** Returns a signal that aborts with the caller's, and when the backend closes. */
  endsWith(signal: AbortSignal): AbortSignal
  list(files: StorageDriverSnapshot, path: string): AsyncIterable<StorageEntry>
  read(files: StorageDriverSnapshot, path: string, options?: StorageReadOptions): Promise<StorageReading>
}

/** The snapshots of a driver as the callers of its backend get them. Each is released once, at the latest by the close. */
export class DriverSnapshots {
  readonly #parts: BackendParts
  /** Snapshots, prepared or taken, that are not released. */
  readonly #held = new Set<{ release(): Promise<void> }>()

  constructor(parts: BackendParts) {
    this.#parts = parts
  }

  async prepare(callersSignal: AbortSignal): Promise<PreparedSnapshot<StorageSnapshot>> {
    const { driver, call, endsWith } = this.#parts
    const signal = endsWith(callersSignal)
    const prepared = await (driver.prepareSnapshot?.(signal) ?? this.#withoutPreparation(signal))
    this.#held.add(prepared)
    let isTaken = false
    return {
      take: (atMoment) =>
        call(async () => {
          signal.throwIfAborted()
          if (isTaken || !this.#held.has(prepared))
            throw conflict('The snapshot was taken or released before. Prepare another one.')
          isTaken = true
          return this.#take(prepared, atMoment, signal)
        }, callersSignal),
      release: async () => {
        if (!isTaken) await this.#release(prepared)
      },
    }
  }

  /** Releases all that are left, when no call runs any more. */
  async releaseAll(): Promise<void> {
    const held = [...this.#held]
    this.#held.clear()
    await Promise.allSettled(held.map((snapshot) => snapshot.release()))
  }

  /** The snapshot of a driver that has `snapshot` instead of `prepareSnapshot`. */
  #withoutPreparation(signal: AbortSignal): PreparedSnapshot<StorageDriverSnapshot> {
    const { driver, gate } = this.#parts
    const take = async (atMoment: () => Promise<void>) => {
      const snapshot = await (driver as Required<StorageDriver>).snapshot()
      try {
        await atMoment()
        return snapshot
      } catch (error) {
        await snapshot.release()
        throw error
      }
    }
    return { take: (atMoment) => gate.runExclusive(() => take(atMoment), signal), release: async () => {} }
  }

  /** Refuses a driver that does not call `atMoment` exactly once, or that goes on when it rejects. */
  async #take(
    prepared: PreparedSnapshot<StorageDriverSnapshot>,
    atMoment: () => Promise<void>,
    signal: AbortSignal,
  ): Promise<StorageSnapshot> {
    let calls = 0
    let failure: Passed | null = null
    const atMomentOnce = async () => {
      calls += 1
      try {
        if (calls > 1) throw driverError(new Error('The driver called `atMoment` a second time.'))
        signal.throwIfAborted()
        await untilAborted(atMoment(), signal)
      } catch (error) {
        failure ??= new Passed(error)
        throw error
      }
    }
    let snapshot: StorageDriverSnapshot
    try {
      snapshot = await prepared.take(atMomentOnce)
    } catch (error) {
      this.#held.delete(prepared)
      await prepared.release()
      throw failure ?? error
    }
    this.#held.delete(prepared)
    if (failure !== null || calls === 0) {
      await snapshot.release()
      throw failure ?? new Error('The driver did not call `atMoment`.')
    }
    this.#held.add(snapshot)
    return this.#viewOf(snapshot)
  }

  #viewOf(snapshot: StorageDriverSnapshot): StorageSnapshot {
    const { call, list, read } = this.#parts
    return {
      omitted: snapshot.omitted ?? [],
      get changed() {
        return snapshot.changed ?? []
      },
      list: (path) => list(snapshot, path),
      read: (path, options) => read(snapshot, path, options),
      ...(snapshot.link && {
        link: (path, to) => call(async () => (await snapshot.link?.(path, to)) ?? false),
      }),
      release: () => this.#release(snapshot),
    }
  }

  async #release(snapshot: { release(): Promise<void> }): Promise<void> {
    if (this.#held.delete(snapshot)) await this.#parts.call(() => snapshot.release())
  }
}
