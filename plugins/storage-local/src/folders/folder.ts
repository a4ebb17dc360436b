import { type BigIntStats, constants } from 'node:fs'
import type { Disk, DiskPath } from '../disk/disk.ts'
import { isDiskError } from '../disk/disk-errors.ts'
import { storedForms } from './stored-names.ts'

const { O_RDONLY, O_DIRECTORY = 0, O_NOFOLLOW = 0 } = constants
const folderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW

/**
 * Whether paths can start at a descriptor. On Linux, `/proc/self/fd/<fd>/<name>` does what `openat` and its siblings
 * do in C. Elsewhere the path itself has to do: a person who can change the folders between a check and the use of a
 * path can point it elsewhere.
 */
export const hasDescriptorPaths = process.platform === 'linux'

/** An open folder. A path from `at` is in this very folder, even if the path of the folder changes. */
export class Folder {
  readonly fd: number
  readonly #disk: Disk
  readonly #prefix: string
  #path: string | undefined
  #identity: string | undefined

  /** @param path where the folder is, for systems without descriptor paths */
  constructor(disk: Disk, fd: number, path: string) {
    this.fd = fd
    this.#disk = disk
    this.#path = hasDescriptorPaths ? undefined : path
    this.#prefix = hasDescriptorPaths ? `/proc/self/fd/${fd}/` : `${path}/`
  }

  /** Where the folder was when this was read first, without symbolic links. */
  get path(): string {
    this.#path ??= this.#disk.readlinkSync(`/proc/self/fd/${this.fd}`)
    return this.#path
  }

  /** Returns the path of an entry of the folder, for the disk only. */
  at(name: string): string {
    return this.#prefix + name
  }

  /** As `at`, for a name that may be bytes that are no text. */
  atStored(name: string | Buffer): DiskPath {
    return typeof name === 'string' ? this.at(name) : Buffer.concat([Buffer.from(this.#prefix), name])
  }

  /** Equal for the same folder only. The time of birth differs where a new folder got the inode of a removed one. */
  identity(): string {
    if (this.#identity === undefined) {
      const { dev, ino, birthtimeNs } = this.#disk.fstatSync(this.fd)
      this.#identity = `${dev}:${ino}:${birthtimeNs}`
    }
    return this.#identity
  }

  close(): void {
    this.#disk.closeSync(this.fd)
  }
}

/** An entry of a folder, with the name that it has on the disk. */
export interface Found {
  readonly stored: string
  readonly stats: BigIntStats
}

/** Opens a folder by a path that is trusted. Symbolic links in it are followed. */
export async function openTrusted(disk: Disk, path: string): Promise<Folder> {
  return new Folder(disk, await disk.open(path, O_RDONLY | O_DIRECTORY), path)
}

/** Opens a folder within an open one. Fails with ENOENT if nothing is there, with ENOTDIR for anything but a folder. */
export async function openChild(disk: Disk, parent: Folder, name: string | Buffer): Promise<Folder> {
  const path = parent.atStored(name)
  if (hasDescriptorPaths) return new Folder(disk, await disk.open(path, folderFlags), '')
  const before = await disk.lstat(path)
  if (!before.isDirectory())
    throw Object.assign(new Error('Not a folder'), { code: 'ENOTDIR', syscall: 'open' })
  const fd = await disk.open(path, folderFlags)
  const { dev, ino } = disk.fstatSync(fd)
  if (dev === before.dev && ino === before.ino) return new Folder(disk, fd, path.toString())
  disk.closeSync(fd)
  throw Object.assign(new Error('The folder was replaced'), { code: 'ENOENT', syscall: 'open' })
}

/**
 * Opens a folder below `root` in one step. Returns null if that step does not reach exactly this folder; `openChild`
 * then has to check one name after the other.
 */
export async function openDirectly(
  disk: Disk,
  root: Folder,
  names: readonly string[],
): Promise<Folder | null> {
  if (!hasDescriptorPaths || names.length === 0) return null
  const below = names.join('/')
  let fd: number
  try {
    fd = await disk.open(root.at(below), folderFlags)
  } catch (error) {
    if (isDiskError(error, 'ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG')) return null
    throw error
  }
  try {
    if (isExactlyAt(disk, fd, root, below)) return new Folder(disk, fd, '')
  } catch (error) {
    disk.closeSync(fd)
    throw error
  }
  disk.closeSync(fd)
  return null
}

/**
 * Whether an open file or folder is at a path below `root` right now, without a symbolic link on the way. It
 * needs descriptor paths.
 */
export function isExactlyAt(disk: Disk, fd: number, root: Folder, below: string): boolean {
  try {
    const prefix = root.path === '/' ? '/' : `${root.path}/`
    return disk.readlinkSync(`/proc/self/fd/${fd}`) === prefix + below
  } catch (error) {
    if (isDiskError(error, 'ENAMETOOLONG', 'ENOENT')) return false
    throw error
  }
}

/** Finds an entry of a folder in the forms that the disk may have for its name. A link is found as a link. */
export async function find(disk: Disk, parent: Folder, name: string): Promise<Found | null> {
  for (const stored of storedForms(name)) {
    try {
      return { stored, stats: await disk.lstat(parent.at(stored)) }
    } catch (error) {
      if (!isDiskError(error, 'ENOENT')) throw error
    }
  }
  return null
}

/** As `find`, but without a thread. It is for folders whose entries the system has in memory. */
export function findSync(disk: Disk, parent: Folder, name: string): Found | null {
  for (const stored of storedForms(name)) {
    const stats = disk.lstatSync(parent.at(stored))
    if (stats !== undefined) return { stored, stats }
  }
  return null
}
