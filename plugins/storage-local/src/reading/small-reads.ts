import { constants } from 'node:fs'
import { nameOf, type StorageDriverReading } from '@nodekeep/plugin-sdk'
import { LRUCache } from 'lru-cache'
import type { Disk } from '../disk/disk.ts'
import { type Folder, hasDescriptorPaths, isExactlyAt } from '../folders/folder.ts'
import { entryOf } from './entry.ts'

const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants

/** Files up to this size are read in one piece, in bytes. */
export const maxSmallBytes = 64 * 1024

/**
 * A file that was last changed this long ago did not change while it was read just now. The coarsest file systems tell
 * times in steps of two seconds. In milliseconds.
 */
const minAgeMs = 2_100

/**
 * Paths up to this length are looked up without a thread, in characters. The system looks up one name after the other, which
 * takes half a millisecond for thousands of names.
 */
const maxShortPath = 512

/** Holds the bytes of one small file, and one byte more, until they are copied. */
const buffer = Buffer.allocUnsafeSlow(maxSmallBytes + 1)

/**
 * Reads small files without a thread if they were read shortly before. The system then still has them in its memory, and
 * reading them takes less time than handing the work to a thread. Only paths are remembered: every read opens the file, and
 * asks the system where the file is and when it changed last.
 */
export class SmallReads {
  readonly #disk: Disk
  readonly #root: Folder
  readonly #recent = new LRUCache<string, true>({ max: 10_000, ttl: 10_000, updateAgeOnGet: true })

  constructor(disk: Disk, root: Folder) {
    this.#disk = disk
    this.#root = root
  }

  /** Remembers that a small file was read. */
  note(path: string): void {
    this.#recent.set(path, true)
  }

  /** Returns undefined if the file has to be read in the usual way, which then also tells what is wrong with it. */
  read(path: string): StorageDriverReading | undefined {
    if (!hasDescriptorPaths || path.length > maxShortPath || !this.#recent.get(path)) return undefined
    const reading = this.#readAgain(path)
    // Until it is read once more: it may have grown.
    if (reading === undefined) this.#recent.delete(path)
    return reading
  }

  #readAgain(path: string): StorageDriverReading | undefined {
    const below = path.slice(1)
    let fd: number | undefined
    try {
      fd = this.#disk.openSync(this.#root.at(below), O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
      if (!isExactlyAt(this.#disk, fd, this.#root, below)) return undefined
      const length = this.#disk.readSync(fd, buffer)
      const stats = this.#disk.fstatSync(fd)
      const entry = entryOf(nameOf(path), stats)
      const isOldEnough = Date.now() - Number(stats.ctimeMs) > minAgeMs
      if (entry?.type !== 'file' || entry.size !== length || !isOldEnough) return undefined
      return { entry, start: 0, content: Buffer.from(buffer.subarray(0, length)) }
    } catch (error) {
      if (error instanceof Error && 'syscall' in error) return undefined
      throw error
    } finally {
      if (fd !== undefined) this.#disk.closeSync(fd)
    }
  }
}
