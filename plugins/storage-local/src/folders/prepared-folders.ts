import type { Disk } from '../disk/disk.ts'
import { type Folder, openChild } from './folder.ts'
import { removeTree } from './removal.ts'
import type { SideFolder } from './side-folder.ts'

/**
 * New folders, one within the other, made ready in the side folder so that one rename puts all of them in place,
 * together with what is in them.
 */
export interface PreparedFolders {
  /** The outermost one's path, for the disk. */
  readonly path: string
  readonly innermost: Folder
  /** Makes the folders and their entries survive the loss of power, before they have their place. */
  sync(): Promise<void>
  /** Closes them; removes those that were never put in place. */
  end(): Promise<void>
}

/** @param names of the folders, from the outermost on; at least one */
export async function prepareFolders(
  disk: Disk,
  side: SideFolder,
  names: readonly string[],
): Promise<PreparedFolders> {
  const top = side.freshName('folders')
  const folders: Folder[] = []
  const end = async () => {
    for (const folder of folders) folder.close()
    await removeTree(disk, side, top).catch(() => {})
  }
  try {
    let parent: Folder = side
    for (const name of [top, ...names.slice(1)]) {
      await disk.mkdir(parent.at(name))
      parent = await openChild(disk, parent, name)
      folders.push(parent)
    }
    return {
      path: side.at(top),
      innermost: parent,
      end,
      async sync() {
        await Promise.all(folders.map(({ fd }) => disk.fsync(fd)))
      },
    }
  } catch (error) {
    await end()
    throw error
  }
}
