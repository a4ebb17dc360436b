import { putBack } from '../changes/replacement.ts'
import type { Disk } from '../disk/disk.ts'
import { isDiskError } from '../disk/disk-errors.ts'
import { type Folder, openChild } from './folder.ts'
import { readIntent } from './intent.ts'
import { removeEmpty, removeTree } from './removal.ts'
import type { Root } from './root.ts'
import { SIDE_FOLDER } from './stored-names.ts'

/** The folder beside the users' ones, on the same file system, where things are made ready and taken apart. */
export interface SideFolder extends Folder {
  /** A name that was not there before. */
  freshName(purpose: 'write' | 'folders' | 'removed' | 'intent' | 'snapshot' | 'probe'): string
}

/** Opens the side folder of a root, and makes it when there is none. */
export async function openSideFolder(disk: Disk, root: Root): Promise<SideFolder> {
  await disk.mkdir(root.at(SIDE_FOLDER)).catch((error: unknown) => {
    if (!isDiskError(error, 'EEXIST')) throw error
  })
  const folder = await openChild(disk, root, SIDE_FOLDER)
  let count = 0
  return {
    ...folder,
    freshName(purpose) {
      count += 1
      return `${purpose}-${count}`
    },
  }
}

/**
 * Tidies up after a process that ended too soon: undoes changes of several steps, removes everything else.
 *
 * Names begin anew with each start, so nothing may be left when others use the side folder.
 */
export async function sweep(disk: Disk, root: Root, side: SideFolder): Promise<void> {
  const leftovers: string[] = []
  for await (const portion of disk.names(side.at('.'))) leftovers.push(...portion)
  for (const name of leftovers) {
    const intent = await readIntent(disk, side, name)
    if (intent?.kind === 'replace') await putBack(disk, root, side, name, intent.names)
    if (intent?.kind === 'make') await removeEmpty(disk, root, intent).catch(unlessInTheWay)
    await removeTree(disk, side, name)
  }
}

/** Folders that were never made need not be removed, and those with something in them stay. */
function unlessInTheWay(error: unknown): void {
  if (!isDiskError(error, 'ENOENT', 'ENOTDIR', 'ENOTEMPTY', 'EEXIST')) throw error
}
