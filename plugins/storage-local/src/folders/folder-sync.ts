import { LRUCache } from 'lru-cache'
import type { Disk } from '../disk/disk.ts'
import { isDiskError } from '../disk/disk-errors.ts'
import { type Folder, openChild } from './folder.ts'

/** Folders that are synced, and open, at the same time on the way up to the root. */
const maxOpen = 64

/** Makes changes in folders survive a power loss. Does nothing where the file system cannot sync folders. */
export class FolderSync {
  readonly #disk: Disk
  readonly #canSync: boolean
  // No `Map`: MEMORY.md, "Tables".
  readonly #running: Record<string, Promise<void>> = Object.create(null)
  readonly #waiting: Record<string, Promise<void>> = Object.create(null)
  /** The folders whose way from the root is durable: identities by path. Another program may replace a folder. */
  readonly #durable = new LRUCache<string, string>({ max: 10_000 })
  /** The paths that were forgotten since somebody began to go up, for each who does. */
  readonly #forgotten = new Set<string[]>()

  constructor(disk: Disk, canSync: boolean) {
    this.#disk = disk
    this.#canSync = canSync
  }

  /** Syncs one folder. Calls that come while it is being synced share the next sync. */
  async sync(folder: Folder): Promise<void> {
    if (!this.#canSync) return
    const key = folder.identity()
    const waiting = this.#waiting[key]
    if (waiting !== undefined) return waiting
    const running = this.#running[key]
    if (running === undefined) return this.#begin(key, folder)
    const next = running.then(ignore, ignore).then(() => {
      delete this.#waiting[key]
      return this.#begin(key, folder)
    })
    this.#waiting[key] = next
    return next
  }

  /** Syncs the folder at these names, and the folders above it unless they are known to be durable. */
  async makeDurable(names: readonly string[], folder: Folder): Promise<void> {
    await Promise.all([this.sync(folder), this.#syncAbove(names, folder).catch(unlessGone)])
  }

  /** Forgets whether the folder at these names, and those in it, are durable. Call it after the folder was moved or removed. */
  forget(names: readonly string[]): void {
    const path = names.join('/')
    for (const known of this.#durable.keys()) if (isWithin(known, path)) this.#durable.delete(known)
    for (const paths of this.#forgotten) paths.push(path)
  }

  /** As `forget`, for a folder that had nothing in it. */
  forgetEmpty(names: readonly string[]): void {
    const path = names.join('/')
    this.#durable.delete(path)
    for (const paths of this.#forgotten) paths.push(path)
  }

  #begin(key: string, folder: Folder): Promise<void> {
    const syncing = this.#disk.fsync(folder.fd).finally(() => delete this.#running[key])
    this.#running[key] = syncing
    return syncing
  }

  /** Goes up by `..`: going down from the root for each folder would take the square of the depth. */
  async #syncAbove(names: readonly string[], folder: Folder): Promise<void> {
    if (!this.#canSync) return
    const forgotten: string[] = []
    this.#forgotten.add(forgotten)
    const passed: (readonly [path: string, identity: string])[] = []
    const above: Folder[] = []
    try {
      let current = folder
      for (let depth = names.length; depth > 0; depth -= 1) {
        const path = names.slice(0, depth).join('/')
        if (this.#durable.get(path) === current.identity()) break
        passed.push([path, current.identity()])
        current = await openChild(this.#disk, current, '..')
        above.push(current)
        if (above.length === maxOpen) await this.#syncAndClose(above, 1)
      }
      await this.#syncAndClose(above, 0)
    } finally {
      for (const parent of above) parent.close()
      this.#forgotten.delete(forgotten)
    }
    for (const [path, identity] of passed) {
      // The identity is stale if the folder was moved or removed while we were syncing.
      if (!forgotten.some((moved) => isWithin(path, moved))) this.#durable.set(path, identity)
    }
  }

  /** Syncs folders, then closes all but the last `keptOpen` of them. */
  async #syncAndClose(folders: Folder[], keptOpen: number): Promise<void> {
    await Promise.all(folders.map((folder) => this.sync(folder)))
    for (const folder of folders.splice(0, folders.length - keptOpen)) folder.close()
  }
}

/** A folder that was moved or removed meanwhile is made durable by that change. */
function unlessGone(error: unknown): void {
  if (!isDiskError(error, 'ENOENT', 'ENOTDIR')) throw error
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || (path.startsWith(folder) && path[folder.length] === '/')
}

function ignore(): void {}
