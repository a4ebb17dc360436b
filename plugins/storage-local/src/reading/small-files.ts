import type { BigIntStats } from 'node:fs'
import type { StorageEntry, StorageReading, StorageReadOptions } from '@nodekeep/plugin-sdk'
import type { Disk } from '../disk/disk.ts'
import type { Root } from '../folders/root.ts'
import { namesOf } from '../folders/walk.ts'
import { changed, fill, sameContent } from './file-chunks.ts'
import { type OpenFile, rangeOf } from './reading.ts'

/** Largest file that is read at once and kept, in bytes. */
export const SMALL = 64 * 1024

/**
 * A file whose time of change lies this far back has no second change in the same tick of the clock. The coarsest
 * file systems have ticks of two seconds. In nanoseconds.
 */
const settled = 2_100_000_000n

/** What an entry costs beside its bytes, about. */
const overhead = 1024

interface Kept {
  /** Of the folders that it is in, from the root on. */
  readonly parents: readonly string[]
  readonly stats: BigIntStats
  readonly entry: StorageEntry
  readonly bytes: Buffer
}

/**
 * The bytes of small files, by their path. Each use asks the system first whether the file there is still the very same,
 * unchanged: device, inode, size and both times. The time of change (`ctime`) cannot be set by programs as that of
 * modification can. And it asks whether the folder is still where the path says, so that no link leads there.
 */
export class SmallFiles {
  readonly #disk: Disk
  readonly #root: Root
  readonly #prefix: string
  readonly #limit: number
  readonly #kept = new Map<string, Kept>()
  #bytes = 0

  /** @param limit bytes to hold altogether */
  constructor(disk: Disk, root: Root, limit: number) {
    this.#disk = disk
    this.#root = root
    this.#prefix = root.path === '/' ? '' : root.path
    this.#limit = limit
  }

  /** Reads from memory what is still true; undefined when the disk has to be read. */
  async read(path: string, options: StorageReadOptions): Promise<StorageReading | undefined> {
    const kept = this.#kept.get(path)
    if (kept === undefined) return undefined
    const isThere = this.#root.isOpen(kept.parents) || (await this.#isFolderThere(kept))
    const isUnchanged = isThere && this.#isUnchanged(path, kept)
    if (this.#kept.get(path) === kept) {
      if (isUnchanged) this.#useLast(path, kept)
      else this.forget(path)
    }
    return isUnchanged ? smallReading(kept.entry, kept.bytes, options) : undefined
  }

  /** Keeps what was read from a path. The file must have been settled before it was read. */
  keep(path: string, { stats, entry }: OpenFile, bytes: Buffer): void {
    const parents = namesOf(path).slice(0, -1)
    const kept = { parents, stats, entry, bytes }
    this.forget(path)
    if (cost(path, kept) > this.#limit) return
    this.#kept.set(path, kept)
    this.#bytes += cost(path, kept)
    for (const [oldest] of this.#kept) {
      if (this.#bytes <= this.#limit) break
      this.forget(oldest)
    }
  }

  #useLast(path: string, kept: Kept): void {
    this.#kept.delete(path)
    this.#kept.set(path, kept)
  }

  /**
   * Whether the folder that it is in is where the path says, and no link leads there. It costs a step where the folder is
   * not open any more; false where one step doesn't do.
   */
  async #isFolderThere({ parents }: Kept): Promise<boolean> {
    const folder = await this.#root.direct(parents).catch(() => null)
    folder?.close()
    return folder !== null
  }

  /** By the whole path, which costs less than through the folder; a file that left the folder has another `ctime`. */
  #isUnchanged(path: string, { stats }: Kept): boolean {
    try {
      const now = this.#disk.lstatSync(this.#prefix + path)
      return (
        now !== undefined &&
        now.ino === stats.ino &&
        now.ctimeNs === stats.ctimeNs &&
        now.mtimeNs === stats.mtimeNs &&
        now.size === stats.size &&
        now.dev === stats.dev
      )
    } catch {
      // Reading the file itself will tell what is wrong.
      return false
    }
  }

  /** Frees the memory of a path's file. */
  forget(path: string): void {
    const kept = this.#kept.get(path)
    if (kept === undefined) return
    this.#kept.delete(path)
    this.#bytes -= cost(path, kept)
  }
}

/** Reads a small file that is open as a whole. Bytes and entry belong together. */
export async function readWhole(file: OpenFile): Promise<Buffer> {
  const bytes = await fill(file, Buffer.allocUnsafeSlow(file.entry.size), 0)
  if (!sameContent(file.stats, file.disk.fstatSync(file.fd))) throw changed()
  return bytes
}

/** The reading of bytes that are in memory. They are lent to those who lend memory themselves, copied for others. */
export function smallReading(
  entry: StorageEntry,
  bytes: Buffer,
  options: StorageReadOptions,
): StorageReading {
  const { start, end } = rangeOf(bytes.length, options)
  const part = bytes.subarray(start, end)
  const chunk = options.reuseBuffers ? part : Buffer.from(part)
  return { entry, content: once(chunk, options.signal) }
}

async function* once(chunk: Uint8Array, signal: AbortSignal | undefined): AsyncIterable<Uint8Array> {
  signal?.throwIfAborted()
  if (chunk.length > 0) yield chunk
  signal?.throwIfAborted()
}

/** Whether the next change of a file will show in its times. */
export function isSettled({ ctimeNs }: BigIntStats): boolean {
  return BigInt(Date.now()) * 1_000_000n - ctimeNs > settled
}

function cost(path: string, { bytes }: Kept): number {
  return overhead + path.length * 2 + bytes.length
}
