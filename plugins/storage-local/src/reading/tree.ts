import { constants } from 'node:fs'
import {
  NodekeepError,
  type StorageDriverReading,
  type StorageDriverReadOptions,
  type StorageEntry,
  type StorageListOptions,
} from '@nodekeep/plugin-sdk'
import type { Disk } from '../disk/disk.ts'
import { isDiskError, notFound } from '../disk/disk-errors.ts'
import { type Folder, find } from '../folders/folder.ts'
import { storedForms } from '../folders/stored-names.ts'
import { namesOf, openFolder } from '../folders/walk.ts'
import { entryOf } from './entry.ts'
import { chunksOf, type OpenFile, readWhole } from './file-chunks.ts'
import { listing, shownNames } from './listing.ts'
import { maxSmallBytes, SmallReads } from './small-reads.ts'
import { SortedNames } from './sorted-names.ts'

const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants
/** Without O_NONBLOCK, opening a named pipe would wait for a writer. */
const fileFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK

/** Bytes of names that listings hold: all of them together, and each in any case. */
const heldNames = { most: 8 * 1024 * 1024, least: 128 * 1024 }

/** A tree of files below a folder, for reading: that of the backend, or of a snapshot. */
export class Tree {
  readonly #disk: Disk
  readonly #root: Folder
  readonly #smallReads: SmallReads | null
  readonly #sortedNames = new SortedNames(heldNames)
  readonly #onChanged: ((path: string) => void) | undefined
  /** The memory of readings that have ended, for the next ones. The garbage collector would free it late. */
  readonly #buffers: Buffer[] | undefined

  /**
   * @param onChanged is for the tree of a snapshot. It is told which files another program changes while they are read. Their
   * readings go on: bytes that are gone become zeros. Without it, such readings fail.
   */
  constructor(disk: Disk, root: Folder, onChanged?: (path: string) => void) {
    this.#disk = disk
    this.#root = root
    this.#onChanged = onChanged
    // All files of a snapshot are read, each one once.
    this.#smallReads = onChanged ? null : new SmallReads(disk, root)
    if (onChanged) this.#buffers = []
  }

  /** Symbolic links and special files are not found. */
  async stat(path: string): Promise<StorageEntry> {
    const names = namesOf(path)
    const name = names.pop()
    const folder = await openFolder(this.#disk, this.#root, names).catch(asMissing)
    try {
      const stats =
        name === undefined ? this.#disk.fstatSync(folder.fd) : (await find(this.#disk, folder, name))?.stats
      const entry = stats && entryOf(name ?? '/', stats)
      if (!entry) throw notFound()
      return entry
    } finally {
      folder.close()
    }
  }

  /** Yields nothing if there is no such folder. */
  async *list(path: string, { after = '' }: StorageListOptions = {}): AsyncIterable<StorageEntry> {
    const disk = this.#disk
    const names = namesOf(path)
    const folder = await openFolder(disk, this.#root, names).catch((error: unknown) => {
      if (isDiskError(error, 'ENOENT', 'ENOTDIR', 'ELOOP')) return null
      throw error
    })
    if (folder === null) return
    try {
      const isRoot = names.length === 0
      const parts = this.#sortedNames.parts(after, (last) => shownNames(disk, folder, isRoot, last))
      yield* listing(disk, folder, parts)
    } finally {
      folder.close()
    }
  }

  async read(path: string, { start, end }: StorageDriverReadOptions): Promise<StorageDriverReading> {
    const quick = this.#smallReads?.read(path)
    if (quick !== undefined) return quick
    const opened = await this.#open(path)
    const noted = this.#onChanged
    const file = noted ? { ...opened, onChanged: () => noted(path) } : opened
    const { size } = file.entry
    if (size > maxSmallBytes) {
      const content = chunksOf(file, start, Math.min((end ?? size) + 1, size), this.#buffers)
      return { entry: file.entry, content }
    }
    try {
      const bytes = await readWhole(file)
      this.#smallReads?.note(path)
      return { entry: file.entry, start: 0, content: bytes }
    } finally {
      this.#disk.closeSync(file.fd)
    }
  }

  /**
   * Makes a hard link to a file.
   *
   * @param to a path of the disk
   * @returns false if `to` is on another disk, or the file has too many links
   */
  async link(path: string, to: string): Promise<boolean> {
    const names = namesOf(path)
    const name = names.pop() ?? ''
    const folder = await openFolder(this.#disk, this.#root, names).catch(asMissing)
    try {
      const found = await find(this.#disk, folder, name)
      if (found === null || !found.stats.isFile()) throw notFound()
      await this.#disk.link(folder.at(found.stored), to)
      return true
    } catch (error) {
      if (isDiskError(error, 'EXDEV', 'EMLINK', 'EPERM', 'ENOTSUP')) return false
      throw error
    } finally {
      folder.close()
    }
  }

  async #open(path: string): Promise<OpenFile> {
    const disk = this.#disk
    const names = namesOf(path)
    const name = names.pop()
    if (name === undefined) throw isFolder()
    const folder = await openFolder(disk, this.#root, names).catch(asMissing)
    try {
      const fd = await openStored(disk, folder, name)
      const stats = disk.fstatSync(fd)
      const entry = entryOf(name, stats)
      if (entry?.type === 'file') return { disk, fd, stats, entry }
      disk.closeSync(fd)
      throw entry === null ? notFound() : isFolder()
    } finally {
      folder.close()
    }
  }
}

async function openStored(disk: Disk, folder: Folder, name: string): Promise<number> {
  for (const stored of storedForms(name)) {
    try {
      return await disk.open(folder.at(stored), fileFlags)
    } catch (error) {
      // ENXIO: a socket, or a device without a driver.
      if (isDiskError(error, 'ENXIO', 'ELOOP')) throw notFound()
      if (!isDiskError(error, 'ENOENT')) throw error
    }
  }
  throw notFound()
}

/** Nothing exists below a file or a link. */
function asMissing(error: unknown): never {
  throw isDiskError(error, 'ENOTDIR') ? notFound() : error
}

function isFolder(): NodekeepError {
  return new NodekeepError('CONFLICT', 'This is a folder. Read the files in it, or list it.')
}
