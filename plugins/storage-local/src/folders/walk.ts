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
 * The number of steps grows with the number of missing folders, and not with the depth.
 *
 * @throws the disk's ENOTDIR where something other than a folder is in the way
 */
export async function walk(disk: Disk, root: Folder, names: readonly string[]): Promise<Walked> {
  let { folder, depth } = await openNearest(disk, root, names)
  for (; depth < names.length; depth += 1) {
    let next: Folder | null
    try {
      next = await openStored(disk, folder, names[depth] ?? '')
    } catch (error) {
      folder.close()
      throw error
    }
    if (next === null) break
    folder.close()
    folder = next
  }
  return { folder, missing: names.slice(depth) }
}

/**
 * Opens the folder, or one above it that can be opened in one step. Each attempt goes up twice as far as the one before: what is
 * missing is mostly the last folder, and a way of 2,000 folders takes eleven attempts.
 */
async function openNearest(
  disk: Disk,
  root: Folder,
  names: readonly string[],
): Promise<{ folder: Folder; depth: number }> {
  for (let above = 0; above < names.length; above = 2 * above + 1) {
    const depth = names.length - above
    const folder = await openDirectly(disk, root, names.slice(0, depth))
    if (folder !== null) return { folder, depth }
  }
  return { folder: await openChild(disk, root, '.'), depth: 0 }
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
