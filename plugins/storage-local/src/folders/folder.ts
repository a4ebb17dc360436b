import { type BigIntStats, constants } from 'node:fs'
import { join } from 'node:path'
import type { Disk, DiskPath } from '../disk/disk.ts'
import { isDiskError } from '../disk/disk-errors.ts'
import { storedForms } from './stored-names.ts'

const { O_RDONLY, O_DIRECTORY = 0, O_NOFOLLOW = 0 } = constants
const FOLDER = O_RDONLY | O_DIRECTORY | O_NOFOLLOW

/**
 * A folder that is open. What is done `at` one of its names is done in this very folder, whatever happens to the path
 * that led to it: on Linux its descriptor stands in place of the path (`/proc/self/fd/<fd>/<name>`), which is what
 * `openat` and its siblings do in C. Elsewhere the path itself must do; then those who can change the folders
 * between a check and the use of a path can lead it astray.
 */
export interface Folder {
  readonly fd: number
  /** Where the folder was when it was opened. */
  readonly path: string
  /** The path of something in the folder, for the disk only. */
  at(name: string): string
  /** The same for the same folder only. The time of birth tells apart those that get the inode of a removed one. */
  identity(): string
  close(): void
}

/** The path of something in a folder whose name may be bytes that are no text. */
export function pathIn(parent: Folder, name: string | Buffer): DiskPath {
  return typeof name === 'string' ? parent.at(name) : Buffer.concat([Buffer.from(parent.at('')), name])
}

/** Something that is in a folder, under the name that the disk has for it. */
export interface Found {
  readonly stored: string
  readonly stats: BigIntStats
}

/** Opens a folder by a path that is trusted, symbolic links included. */
export async function openTrusted(disk: Disk, path: string): Promise<Folder> {
  const fd = await disk.open(path, O_RDONLY | O_DIRECTORY)
  const shown = anchored ? disk.readlinkSync(`/proc/self/fd/${fd}`) : path
  return folder(disk, fd, () => shown)
}

/** Opens a folder within one that is open; ENOENT when there is none, ENOTDIR for anything else, links too. */
export async function openChild(disk: Disk, parent: Folder, name: string | Buffer): Promise<Folder> {
  const path = pathIn(parent, name)
  const shown = () => join(parent.path, name.toString())
  if (anchored) return folder(disk, await disk.open(path, FOLDER), shown)
  const before = await disk.lstat(path)
  if (!before.isDirectory())
    throw Object.assign(new Error('Not a folder'), { code: 'ENOTDIR', syscall: 'open' })
  const fd = await disk.open(path, FOLDER)
  const { dev, ino } = disk.fstatSync(fd)
  if (dev === before.dev && ino === before.ino) return folder(disk, fd, shown)
  disk.closeSync(fd)
  throw Object.assign(new Error('The folder was replaced'), { code: 'ENOENT', syscall: 'open' })
}

/**
 * Opens a folder below `root` in one step, and asks the system where that step led: null when not exactly there,
 * which is for {@link openChild} to judge, one name after the other.
 */
export async function openDirectly(
  disk: Disk,
  root: Folder,
  names: readonly string[],
): Promise<Folder | null> {
  if (!anchored || names.length === 0) return null
  const below = names.join('/')
  let fd: number
  try {
    fd = await disk.open(root.at(below), FOLDER)
  } catch (error) {
    if (isDiskError(error, 'ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG')) return null
    throw error
  }
  try {
    const path = `${root.path === '/' ? '' : root.path}/${below}`
    if (disk.readlinkSync(`/proc/self/fd/${fd}`) === path) return folder(disk, fd, () => path)
  } catch (error) {
    if (!isDiskError(error, 'ENAMETOOLONG', 'ENOENT')) {
      disk.closeSync(fd)
      throw error
    }
  }
  disk.closeSync(fd)
  return null
}

/** Looks for a name in a folder, in the forms that the disk may have for it. Links are found as links. */
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

/** The same without a wait, for folders that are in use. */
export function findSync(disk: Disk, parent: Folder, name: string): Found | null {
  for (const stored of storedForms(name)) {
    const stats = disk.lstatSync(parent.at(stored))
    if (stats !== undefined) return { stored, stats }
  }
  return null
}

const anchored = process.platform === 'linux'

/** @param shown makes the path. In deep trees the paths of all folders would take the square of the depth. */
function folder(disk: Disk, fd: number, shown: () => string): Folder {
  const prefix = anchored ? `/proc/self/fd/${fd}/` : `${shown()}/`
  let identity: string | undefined
  let path: string | undefined
  return {
    fd,
    get path() {
      path ??= shown()
      return path
    },
    at: (name) => prefix + name,
    identity() {
      identity ??= identify(disk, fd)
      return identity
    },
    close: () => disk.closeSync(fd),
  }
}

function identify(disk: Disk, fd: number): string {
  const { dev, ino, birthtimeNs } = disk.fstatSync(fd)
  return `${dev}:${ino}:${birthtimeNs}`
}
