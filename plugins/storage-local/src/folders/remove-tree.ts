import { randomUUID } from 'node:crypto'
import type { Disk, DiskPath } from '../disk/disk.ts'
import { isDiskError } from '../disk/disk-errors.ts'
import { type Folder, openChild } from './folder.ts'
import { replacementCharacter } from './stored-names.ts'

/** Folders within each other that are open at the same time. Moves can make trees of any depth. */
const maxOpenLevels = 64

/** Takes folders that are deeper in the tree than that. */
type SetAside = (path: DiskPath) => Promise<void>

/** Removes trees from the staging folder in the background, one after the other. */
export class DiscardQueue {
  readonly #disk: Disk
  readonly #staging: Folder
  readonly #onFailure: (error: unknown) => void
  #pending: Promise<void> | null = null

  /** @param onFailure is told why a tree stays. The next start tries again. */
  constructor(disk: Disk, staging: Folder, onFailure: (error: unknown) => void) {
    this.#disk = disk
    this.#staging = staging
    this.#onFailure = onFailure
  }

  /** Resolves when everything has been removed that was added so far; null if nothing is left to remove. */
  get pending(): Promise<void> | null {
    return this.#pending
  }

  add(name: string): void {
    const removing = (this.#pending ?? Promise.resolve())
      .then(() => removeTree(this.#disk, this.#staging, name))
      .catch(this.#onFailure)
      .then(() => {
        if (this.#pending === removing) this.#pending = null
      })
    this.#pending = removing
  }
}

/**
 * Removes an entry of the staging folder and everything in it. Symbolic links are removed and never followed, even if
 * they appear during the removal: each folder is emptied through its own descriptor.
 */
export async function removeTree(disk: Disk, staging: Folder, name: string): Promise<void> {
  const names = [name]
  const setAside = async (path: DiskPath) => {
    // A name from the tree is a user's, and could be that of a replacement.
    const aside = `removed-${randomUUID()}`
    if (await isGone(disk.rename(path, staging.at(aside)))) names.push(aside)
  }
  for (let next = names.pop(); next !== undefined; next = names.pop()) {
    await removeBranch(disk, staging, next, maxOpenLevels, setAside)
  }
}

async function removeBranch(
  disk: Disk,
  parent: Folder,
  name: string | Buffer,
  levels: number,
  setAside: SetAside,
): Promise<void> {
  const path = parent.atStored(name)
  if (await isGone(disk.unlink(path), 'EISDIR', 'EPERM')) return
  if (levels === 0) return setAside(path)
  let folder: Folder
  try {
    folder = await openChild(disk, parent, name)
  } catch (error) {
    if (isDiskError(error, 'ENOENT')) return
    throw error
  }
  try {
    // An entry that appears meanwhile makes the removal of the folder fail. The folder is then emptied again.
    do await empty(folder)
    while (!(await isGone(disk.rmdir(path), 'ENOTEMPTY', 'EEXIST')))
  } finally {
    folder.close()
  }

  async function empty(folder: Folder): Promise<void> {
    const remove = (name: string | Buffer) => removeBranch(disk, folder, name, levels - 1, setAside)
    let hasIllegibleNames = false
    for await (const portion of disk.names(folder.at('.'))) {
      for (const name of portion) {
        if (name.includes(replacementCharacter)) hasIllegibleNames = true
        else await remove(name)
      }
    }
    if (!hasIllegibleNames) return
    for (const name of await disk.namesInBytes(folder.at('.'))) await remove(name)
  }
}

/** Returns false if the removal failed with one of the codes. */
async function isGone(removal: Promise<void>, ...codes: string[]): Promise<boolean> {
  try {
    await removal
    return true
  } catch (error) {
    if (isDiskError(error, 'ENOENT')) return true
    if (isDiskError(error, ...codes)) return false
    throw error
  }
}
