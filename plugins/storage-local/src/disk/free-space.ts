import { NodekeepError, type StorageSpace, untilAborted } from '@nodekeep/plugin-sdk'
import type { Disk } from './disk.ts'
import { diskFull } from './disk-errors.ts'

/**
 * Bytes of the disk that writes never use; on a small disk, an eighth of it. On a disk that is full to the last byte, the
 * node could not record deletions.
 */
const maxReserve = 32n * 1024n * 1024n
const smallDiskShare = 8n

/** An answer of the system is used for this time, in milliseconds. */
const answerLifeMs = 100

/** Above this number of free bytes, nobody waits for a newer answer: writes cannot use them up before it comes. */
const plentyBytes = 1024 ** 3

/** The disk stores whole blocks, in bytes. */
const blockBytes = 4096

/**
 * The space on a disk that writes may still use. It asks the system at most every 100 ms, and in between subtracts what is
 * written.
 */
export class FreeSpace {
  readonly #disk: Disk
  readonly #path: string
  readonly #pendingRemovals: () => Promise<void> | null
  /** Bytes that writes may still use. Negative if less than the reserve is free. */
  #left = 0
  #askedAt = Number.NEGATIVE_INFINITY
  #asking: Promise<void> | null = null
  /** Bytes that are being written now. */
  #inProgress = 0

  /**
   * @param path of a folder on the disk
   * @param pendingRemovals resolves when everything discarded so far is removed; null if nothing is left to remove
   */
  constructor(disk: Disk, path: string, pendingRemovals: () => Promise<void> | null) {
    this.#disk = disk
    this.#path = path
    this.#pendingRemovals = pendingRemovals
  }

  /**
   * Resolves if there is space for a size. If there is not, it first waits for pending removals.
   *
   * @param size bytes; undefined if unknown
   * @throws NodekeepError INSUFFICIENT_STORAGE
   */
  async check(size: number | undefined, signal?: AbortSignal): Promise<void> {
    await this.#find(wholeBlocks(size ?? 0) + blockBytes, size, signal)
  }

  /** As `check`, then writes these bytes. Until the write has ended, no other write gets the same space. */
  async reserve<T>(size: number, signal: AbortSignal, write: () => Promise<T>): Promise<T> {
    const bytes = wholeBlocks(size)
    // Others that waited too may have taken the space that was found.
    do await this.#find(bytes, undefined, signal)
    while (this.#left < bytes)
    this.#left -= bytes
    this.#inProgress += bytes
    try {
      return await write()
    } finally {
      this.#inProgress -= bytes
    }
  }

  async #find(bytes: number, size: number | undefined, signal: AbortSignal | undefined): Promise<void> {
    if (performance.now() - this.#askedAt < answerLifeMs && this.#left >= bytes) return
    const answer = this.#ask()
    // If the question fails, the call that needs its answer asks again.
    if (this.#left - bytes >= plentyBytes) return void answer.catch(() => {})
    await answer
    if (this.#left >= bytes) return
    do {
      const removals = this.#pendingRemovals()
      // The removal of a large folder takes long. A write that is aborted does not wait for it.
      if (removals !== null) await (signal === undefined ? removals : untilAborted(removals, signal))
      // An answer that is on its way may be older than the end of the removals.
      await this.#asking
      await this.#ask()
    } while (this.#left < bytes && this.#pendingRemovals() !== null)
    if (this.#left < bytes) throw size === undefined ? diskFull() : noSpaceFor(size)
  }

  /** The room of the disk now; null for a file system that cannot tell. */
  async space(): Promise<StorageSpace | null> {
    const { available, total } = await this.#disk.space(this.#path)
    return total === 0n
      ? null
      : { free: Math.max(0, Number(available - reserveOf(total))), total: Number(total) }
  }

  #ask(): Promise<void> {
    this.#asking ??= this.#measure().finally(() => {
      this.#asking = null
    })
    return this.#asking
  }

  async #measure(): Promise<void> {
    const { available, total } = await this.#disk.space(this.#path)
    // The answer may or may not include the bytes in progress.
    this.#left = Number(available - reserveOf(total)) - this.#inProgress
    // File systems that cannot tell their space answer zero.
    if (total === 0n) this.#left = Number.POSITIVE_INFINITY
    this.#askedAt = performance.now()
  }
}

/** Bytes of a disk that writes never use. */
function reserveOf(total: bigint): bigint {
  const share = total / smallDiskShare
  return share < maxReserve ? share : maxReserve
}

function wholeBlocks(size: number): number {
  return Math.ceil(size / blockBytes) * blockBytes
}

function noSpaceFor(size: number): NodekeepError {
  return new NodekeepError(
    'INSUFFICIENT_STORAGE',
    `The disk has no space for ${size} bytes. Remove what is not needed, then try again.`,
  )
}
