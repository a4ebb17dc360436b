import { NodekeepError } from '@nodekeep/plugin-sdk'
import type { Disk } from '../disk/disk.ts'
import { isDiskError } from '../disk/disk-errors.ts'
import { type Folder, openChild, openDirectly } from './folder.ts'
import { stagingFolderName, storedForms } from './stored-names.ts'

/**
 * Returns the names that a path consists of, from the root on; none for the root.
 *
 * @throws NodekeepError NOT_FOUND for the staging folder and everything in it
 */
export function namesOf(path: string): string[] {
  const names = path === '/' ? [] : path.slice(1).split('/')
  if (names[0] === stagingFolderName) {
    throw new NodekeepError(
      'NOT_FOUND',
      `The name ${stagingFolderName} is reserved for the node. Choose another name.`,
    )
  }
  return names
}

/** The result of a walk: the last folder that exists, and the names for which nothing exists. */
export interface Walked {
  readonly folder: Folder
  readonly missing: readonly string[]
}

/**
 * Walks down from a root as far as there are folders, and never follows a symbolic link. The caller closes the folder.
 *
 * @throws the disk's ENOTDIR where something other than a folder is in the way
 */
export async function walk(disk: Disk, root: Folder, names: readonly string[]): Promise<Walked> {
  const direct = await openDirectly(disk, root, names)
  if (direct !== null) return { folder: direct, missing: [] }
  let folder = await openChild(disk, root, '.')
  for (const [depth, name] of names.entries()) {
    let next: Folder | null
    try {
      next = await openStored(disk, folder, name)
    } catch (error) {
      folder.close()
      throw error
    }
    if (next === null) return { folder, missing: names.slice(depth) }
    folder.close()
    folder = next
  }
  return { folder, missing: [] }
}

/** Opens the folder at these names. Fails with the disk's ENOENT or ENOTDIR if there is none. */
export async function openFolder(disk: Disk, root: Folder, names: readonly string[]): Promise<Folder> {
  const { folder, missing } = await walk(disk, root, names)
  if (missing.length === 0) return folder
  folder.close()
  throw Object.assign(new Error('No such folder'), { code: 'ENOENT', syscall: 'open' })
}

async function openStored(disk: Disk, parent: Folder, name: string): Promise<Folder | null> {
  for (const stored of storedForms(name)) {
    try {
      return await openChild(disk, parent, stored)
    } catch (error) {
      if (!isDiskError(error, 'ENOENT')) throw error
    }
  }
  return null
}
