import { NodekeepError } from '@nodekeep/plugin-sdk'
import type { Disk } from '../disk/disk.ts'
import { isDiskError } from '../disk/disk-errors.ts'
import { type Folder, openChild } from './folder.ts'
import type { Root } from './root.ts'
import { sideFolder, storedForms } from './stored-names.ts'

/**
 * The names that a path consists of, from the root on; none for the root.
 *
 * @throws NodekeepError NOT_FOUND for the side folder and what is in it
 */
export function namesOf(path: string): string[] {
  const names = path === '/' ? [] : path.slice(1).split('/')
  if (names[0] === sideFolder) {
    throw new NodekeepError(
      'NOT_FOUND',
      `The name ${sideFolder} belongs to the node itself. Choose another one.`,
    )
  }
  return names
}

/** How far a walk came: the last folder that is there, and the names for which there is nothing yet. */
export interface Reached {
  readonly folder: Folder
  readonly names: readonly string[]
  readonly missing: readonly string[]
}

/**
 * Walks down from a root without ever following a symbolic link, as far as there are folders. Who calls closes the
 * folder.
 *
 * @throws the disk's ENOTDIR where something that is no folder is in the way
 */
export async function walk(disk: Disk, root: Root, names: readonly string[]): Promise<Reached> {
  const direct = await root.direct(names)
  if (direct !== null) return { folder: direct, names, missing: [] }
  let folder = await openChild(disk, root, '.')
  for (const [depth, name] of names.entries()) {
    let next: Folder | null
    try {
      next = await openForm(disk, folder, name)
    } catch (error) {
      folder.close()
      throw error
    }
    if (next === null) return { folder, names: names.slice(0, depth), missing: names.slice(depth) }
    folder.close()
    folder = next
  }
  return { folder, names, missing: [] }
}

/** Walks all the way, or fails with the disk's ENOENT or ENOTDIR. */
export async function openFolder(disk: Disk, root: Root, names: readonly string[]): Promise<Folder> {
  const { folder, missing } = await walk(disk, root, names)
  if (missing.length === 0) return folder
  folder.close()
  throw Object.assign(new Error('No such folder'), { code: 'ENOENT', syscall: 'open' })
}

async function openForm(disk: Disk, parent: Folder, name: string): Promise<Folder | null> {
  for (const stored of storedForms(name)) {
    try {
      return await openChild(disk, parent, stored)
    } catch (error) {
      if (!isDiskError(error, 'ENOENT')) throw error
    }
  }
  return null
}
