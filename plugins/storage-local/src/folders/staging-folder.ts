import { randomBytes } from 'node:crypto'
import type { Disk } from '../disk/disk.ts'
import { isDiskError } from '../disk/disk-errors.ts'
import { Folder, openChild } from './folder.ts'
import { stagingFolderName } from './stored-names.ts'

/** The folder for unfinished work. It is in the root, so it is on the same file system as the files of users. */
export class StagingFolder extends Folder {
  // The names of an earlier process may still exist: they are removed while this process makes new ones.
  readonly #process = randomBytes(6).toString('hex')
  #count = 0

  /** Returns a name that nothing in the folder has. */
  freshName(purpose: 'write' | 'removed' | 'intent' | 'snapshot' | 'probe'): string {
    this.#count += 1
    return `${purpose}-${this.#process}-${this.#count}`
  }
}

/** Opens the staging folder of a root, or makes it. */
export async function openStagingFolder(disk: Disk, root: Folder): Promise<StagingFolder> {
  await disk.mkdir(root.at(stagingFolderName)).catch((error: unknown) => {
    if (!isDiskError(error, 'EEXIST')) throw error
  })
  const { fd } = await openChild(disk, root, stagingFolderName)
  return new StagingFolder(disk, fd, root.at(stagingFolderName))
}
