import { randomBytes } from 'node:crypto'
import { putBack } from '../changes/replacement.ts'
import type { Store } from '../changes/store.ts'
import type { Disk } from '../disk/disk.ts'
import { isDiskError } from '../disk/disk-errors.ts'
import { type Folder, openChild } from './folder.ts'
import { readIntent } from './intent.ts'
import { removeEmpty } from './removal.ts'
import type { Root } from './root.ts'
import { sideFolder } from './stored-names.ts'

/** The folder beside the users' ones, on the same file system, where things are made ready and taken apart. */
export interface SideFolder extends Folder {
  /** A name that was not there before. */
  freshName(purpose: 'write' | 'folders' | 'removed' | 'intent' | 'snapshot' | 'probe'): string
}

/** Opens the side folder of a root, and makes it when there is none. */
export async function openSideFolder(disk: Disk, root: Root): Promise<SideFolder> {
  await disk.mkdir(root.at(sideFolder)).catch((error: unknown) => {
    if (!isDiskError(error, 'EEXIST')) throw error
  })
  const folder = await openChild(disk, root, sideFolder)
  // What an earlier process left is removed while this one already makes names.
  const life = randomBytes(6).toString('hex')
  let count = 0
  return {
    ...folder,
    freshName(purpose) {
      count += 1
      return `${purpose}-${life}-${count}`
    },
  }
}

/**
 * Tidies up after a process that ended too soon: undoes changes of several steps, and begins to remove everything else,
 * which may take long.
 */
export async function sweep({ disk, root, side, syncs, discard }: Store): Promise<void> {
  const leftovers: string[] = []
  for await (const portion of disk.names(side.at('.'))) leftovers.push(...portion)
  const removable: string[] = []
  for (const name of leftovers) {
    const intent = await readIntent(disk, side, name)
    if (intent?.kind === 'replace') await putBack(disk, root, side, name, intent.names)
    if (intent?.kind === 'make') await removeEmpty(disk, root, intent).catch(unlessInTheWay)
    removable.push(intent === null ? name : await settled(disk, side, name))
  }
  await syncs.sync(side)
  for (const name of removable) discard(name)
}

/** Takes the name of an intent away from one that is undone: by the next start the tree may be another one. */
async function settled(disk: Disk, side: SideFolder, name: string): Promise<string> {
  const removable = side.freshName('removed')
  await disk.rename(side.at(name), side.at(removable))
  return removable
}

/** Folders that were never made need not be removed, and those with something in them stay. */
function unlessInTheWay(error: unknown): void {
  if (!isDiskError(error, 'ENOENT', 'ENOTDIR', 'ENOTEMPTY', 'EEXIST')) throw error
}
