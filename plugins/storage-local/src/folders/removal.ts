import { randomUUID } from 'node:crypto'
import type { Disk, DiskPath } from '../disk/disk.ts'
import { isDiskError } from '../disk/disk-errors.ts'
import { type Folder, openChild, pathIn } from './folder.ts'
import type { Root } from './root.ts'
import { openFolder, type Reached } from './walk.ts'

/** What stands for bytes that are no valid UTF-8: such a name doesn't lead to the file that has it. */
const replacement = '\uFFFD'

/** So many folders, one within the other, are open at once. Moves can make trees of any depth. */
const deepest = 64

/** Takes folders that lie deeper. */
type SetAside = (path: DiskPath) => Promise<void>

/**
 * Removes something from a folder, and everything in it. Symbolic links are removed, never followed, also when
 * somebody puts them there meanwhile: each folder is emptied through its own descriptor.
 *
 * @param side the side folder, which holds what is deep in the tree until it is removed
 */
export async function removeTree(disk: Disk, side: Folder, name: string): Promise<void> {
  const names = [name]
  const setAside = async (path: DiskPath) => {
    // Never the name of an intent: what is in here came from users.
    const aside = `removed-${randomUUID()}`
    if (await removed(disk.rename(path, side.at(aside)))) names.push(aside)
  }
  for (let next = names.pop(); next !== undefined; next = names.pop()) {
    await removeBranch(disk, side, next, deepest, setAside)
  }
}

async function removeBranch(
  disk: Disk,
  parent: Folder,
  name: string | Buffer,
  levels: number,
  setAside: SetAside,
): Promise<void> {
  const path = pathIn(parent, name)
  if (await removed(disk.unlink(path), 'EISDIR', 'EPERM')) return
  if (levels === 0) return setAside(path)
  let folder: Folder
  try {
    folder = await openChild(disk, parent, name)
  } catch (error) {
    if (isDiskError(error, 'ENOENT')) return
    throw error
  }
  try {
    // What appears while the folder is emptied makes the removal of the folder fail; then it is emptied again.
    do await empty(folder)
    while (!(await removed(disk.rmdir(path), 'ENOTEMPTY', 'EEXIST')))
  } finally {
    folder.close()
  }

  async function empty(folder: Folder): Promise<void> {
    const remove = (name: string | Buffer) => removeBranch(disk, folder, name, levels - 1, setAside)
    let illegible = false
    for await (const portion of disk.names(folder.at('.'))) {
      for (const name of portion) {
        if (name.includes(replacement)) illegible = true
        else await remove(name)
      }
    }
    if (!illegible) return
    for (const name of await disk.namesInBytes(folder.at('.'))) await remove(name)
  }
}

/** Removes folders that were made one within the other, as far as they are still empty. */
export async function removeEmpty(
  disk: Disk,
  root: Root,
  { names, missing: made }: Pick<Reached, 'names' | 'missing'>,
): Promise<void> {
  for (let depth = made.length - 1; depth >= 0; depth -= 1) {
    const parent = await openFolder(disk, root, [...names, ...made.slice(0, depth)])
    try {
      await disk.rmdir(parent.at(made[depth] ?? ''))
    } finally {
      parent.close()
    }
  }
}

/** True when it is gone, false when it failed with one of the codes. */
async function removed(attempt: Promise<void>, ...codes: string[]): Promise<boolean> {
  try {
    await attempt
    return true
  } catch (error) {
    if (isDiskError(error, 'ENOENT')) return true
    if (isDiskError(error, ...codes)) return false
    throw error
  }
}
