import { existsSync, statSync } from 'node:fs'
import { mkdir, readdir, rename, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { lockFile } from '@nodekeep/plugin-sdk'
import { makePrivateFolder } from '@nodekeep/plugin-sdk/data-folder'
import { syncFolder } from '@nodekeep/plugin-sdk/durable-files'
import { type InstalledPackage, readInstalled } from './npm-packages.ts'

/** A plugin that was added, by its id. */
export interface AddedPlugin extends InstalledPackage {
  readonly id: string
}

/**
 * The folder `added-plugins` in the data folder. It has a folder for each plugin, with its package and all dependencies of it, so that a
 * plugin is added, replaced and removed in one step, and no plugin changes the libraries of another one.
 */
export class AddedPlugins {
  readonly #data: string
  readonly #path: string

  constructor(dataFolder: string) {
    this.#data = dataFolder
    this.#path = join(dataFolder, 'added-plugins')
  }

  /** The folder of a command that runs. No id begins with a dot. */
  get #new(): string {
    return join(this.#path, '.new')
  }

  /** The lock of the command that runs. */
  get #lock(): string {
    return join(this.#path, '.lock')
  }

  /** The folder of a plugin that is being replaced or removed. */
  get #old(): string {
    return join(this.#path, '.old')
  }

  /**
   * Makes an empty folder, which is removed when the work has ended. One command at a time has it.
   *
   * @throws Error if another command has it, or if the data folder belongs to another account: the node could not read what root writes
   *   there, or could redirect it
   */
  async withNewFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
    const isThere = existsSync(this.#data)
    if (isThere && process.getuid !== undefined && statSync(this.#data).uid !== process.getuid())
      throw new Error(
        `The data folder ${this.#data} belongs to another account. Run this command as that account, such as with "sudo -u nodekeep".`,
      )
    if (!isThere) makePrivateFolder(this.#data)
    makePrivateFolder(this.#path)
    using lock = lockFile(this.#lock)
    if (lock === null)
      throw new Error('Another command adds, removes or lists plugins now. Try again when it has ended.')
    try {
      await rm(this.#old, { recursive: true, force: true })
      await rm(this.#new, { recursive: true, force: true })
      await mkdir(this.#new)
      return await work(this.#new)
    } finally {
      await rm(this.#new, { recursive: true, force: true })
      await rm(this.#lock, { force: true })
      // Only empty folders are removed.
      await rmdir(this.#path).catch(() => {})
      if (!isThere) await rmdir(this.#data).catch(() => {})
    }
  }

  /** Returns the folder of a plugin. */
  folderOf(id: string): string {
    return join(this.#path, id)
  }

  has(id: string): boolean {
    return existsSync(this.folderOf(id))
  }

  async list(): Promise<AddedPlugin[]> {
    const names = await readdir(this.#path).catch(() => [])
    const ids = names.filter((name) => !name.startsWith('.')).sort()
    return Promise.all(ids.map(async (id) => ({ id, ...(await readInstalled(this.folderOf(id))) })))
  }

  /**
   * Moves a folder to the place of a plugin's, then does some work. If the work fails, everything is as before.
   *
   * @returns the result of the work
   */
  async place<T>(id: string, from: string, work: () => Promise<T>): Promise<T> {
    const folder = this.folderOf(id)
    const isThere = this.has(id)
    if (isThere) await rename(folder, this.#old)
    try {
      await rename(from, folder)
      await syncFolder(this.#path)
      const result = await work()
      await rm(this.#old, { recursive: true, force: true })
      return result
    } catch (error) {
      await rm(folder, { recursive: true, force: true })
      if (isThere) await rename(this.#old, folder)
      throw error
    }
  }

  async remove(id: string): Promise<void> {
    await rename(this.folderOf(id), this.#old)
    await rm(this.#old, { recursive: true, force: true })
  }
}
