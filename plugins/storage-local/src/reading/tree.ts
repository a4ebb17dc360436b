import { constants } from 'node:fs'
import {
  NodekeepError,
  type StorageEntry,
  type StorageReading,
  type StorageReadOptions,
} from '@nodekeep/plugin-sdk'
import type { Disk } from '../disk/disk.ts'
import { isDiskError, notFound } from '../disk/disk-errors.ts'
import { type Folder, find, findSync } from '../folders/folder.ts'
import type { Root } from '../folders/root.ts'
import { storedForms } from '../folders/stored-names.ts'
import { namesOf, openFolder } from '../folders/walk.ts'
import { entryOf } from './entry.ts'
import { listing } from './listing.ts'
import { type OpenFile, readingOf } from './reading.ts'
import type { Readings } from './readings.ts'
import type { RecentLooks } from './recent-looks.ts'

const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants
/** A named pipe must not make the opening wait for a writer. */
const FILE = O_RDONLY | O_NOFOLLOW | O_NONBLOCK

/** A tree of files below a folder, for reading: the backend's own one, or a snapshot's. */
export interface Tree {
  readonly disk: Disk
  readonly root: Root
  readonly readings: Readings
  readonly looks: RecentLooks
}

/** Looks at one path. Symbolic links and special files are not there. */
export async function statIn({ disk, root, looks }: Tree, path: string): Promise<StorageEntry> {
  const names = namesOf(path)
  const name = names.pop()
  const folder = await openFolder(disk, root, names).catch(asMissing)
  try {
    if (name === undefined) return required(entryOf('/', disk.fstatSync(folder.fd)))
    const found = looks.has(path) ? findSync(disk, folder, name) : await find(disk, folder, name)
    looks.note(path)
    return required(found && entryOf(name, found.stats))
  } finally {
    folder.close()
  }
}

/** Lists the folder at a path. */
export async function* listIn(tree: Tree, path: string): AsyncIterable<StorageEntry> {
  const { disk, root } = tree
  const names = namesOf(path)
  const folder = await openFolder(disk, root, names).catch(async (error: unknown) => {
    if (isDiskError(error, 'ENOTDIR') && (await statIn(tree, path)).type === 'file') throw error
    return asMissing(error)
  })
  try {
    yield* listing(disk, folder, names.length === 0)
  } finally {
    folder.close()
  }
}

/** Opens the file at a path. The answer's `stored` is the name that the disk has for it. */
export async function openIn({ disk, root }: Tree, path: string): Promise<OpenFile & { stored: string }> {
  const names = namesOf(path)
  const name = names.pop()
  if (name === undefined) throw folderThere()
  const folder = await openFolder(disk, root, names).catch(asMissing)
  try {
    const { fd, stored } = await openForm(disk, folder, name)
    const stats = disk.fstatSync(fd)
    const entry = entryOf(name, stats)
    if (entry?.type === 'file') return { disk, fd, stats, entry, stored }
    disk.closeSync(fd)
    throw entry === null ? notFound() : folderThere()
  } finally {
    folder.close()
  }
}

/** Reads the file at a path. */
export async function readIn(tree: Tree, path: string, options: StorageReadOptions): Promise<StorageReading> {
  options.signal?.throwIfAborted()
  return readingOf(await openIn(tree, path), options, tree.readings)
}

async function openForm(disk: Disk, folder: Folder, name: string): Promise<{ fd: number; stored: string }> {
  for (const stored of storedForms(name)) {
    try {
      return { fd: await disk.open(folder.at(stored), FILE), stored }
    } catch (error) {
      // ENXIO: a socket, or a device without a driver.
      if (isDiskError(error, 'ENXIO', 'ELOOP')) throw notFound()
      if (!isDiskError(error, 'ENOENT')) throw error
    }
  }
  throw notFound()
}

/** What is below something that is no folder is not there. */
function asMissing(error: unknown): never {
  throw isDiskError(error, 'ENOTDIR') ? notFound() : error
}

function required(entry: StorageEntry | null): StorageEntry {
  if (entry === null) throw notFound()
  return entry
}

function folderThere(): NodekeepError {
  return new NodekeepError('CONFLICT', 'This is a folder. Read the files in it, or list it.')
}
