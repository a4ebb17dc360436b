import type { Disk } from '../disk/disk.ts'
import { isDiskError } from '../disk/disk-errors.ts'
import { type Folder, openChild } from './folder.ts'

/** Makes what happened in folders survive the loss of power. */
export interface FolderSync {
  /** Syncs one folder. Those who ask while it is being synced share the next time. */
  sync(folder: Folder): Promise<void>
  /** Syncs the folder at these names, and its way from the root where that isn't known to be durable. */
  settle(names: readonly string[], folder: Folder): Promise<void>
  /** Forgets which ways are durable: folders were moved or removed. */
  forget(): void
}

/** So many folders are remembered to have a durable way. */
const remembered = 10_000

/** So many folders of a way are synced, and open, at once. */
const together = 64

/** @param possible whether the file system can sync folders; without that, all this does nothing */
export function createFolderSync(disk: Disk, possible: boolean): FolderSync {
  const running = new Map<string, Promise<void>>()
  const waiting = new Map<string, Promise<void>>()
  /** By path; the identity tells whether another program put another folder there. */
  const durable = new Map<string, string>()
  let generation = 0

  async function sync(folder: Folder): Promise<void> {
    if (possible) await grouped(folder)
  }

  function grouped(folder: Folder): Promise<void> {
    const key = folder.identity()
    const shared = waiting.get(key)
    if (shared !== undefined) return shared
    const current = running.get(key)
    if (current === undefined) return begin(key, folder)
    const next = current.then(ignore, ignore).then(() => {
      waiting.delete(key)
      return begin(key, folder)
    })
    waiting.set(key, next)
    return next
  }

  function begin(key: string, folder: Folder): Promise<void> {
    const syncing = disk.fsync(folder.fd).finally(() => running.delete(key))
    running.set(key, syncing)
    return syncing
  }

  /** Goes up by `..` from one to the next: from the root down it would be the square of the depth. */
  async function settleAbove(names: readonly string[], folder: Folder): Promise<void> {
    if (!possible) return
    const begun = generation
    const settled: (readonly [path: string, identity: string])[] = []
    const above: Folder[] = []
    try {
      let current = folder
      for (let depth = names.length; depth > 0; depth -= 1) {
        const path = names.slice(0, depth).join('/')
        if (durable.get(path) === current.identity()) break
        settled.push([path, current.identity()])
        current = await openChild(disk, current, '..')
        above.push(current)
        if (above.length === together) await syncAll(above, 1)
      }
      await syncAll(above, 0)
    } finally {
      for (const parent of above) parent.close()
    }
    if (begun !== generation) return
    if (durable.size + settled.length > remembered) durable.clear()
    for (const [path, identity] of settled) durable.set(path, identity)
  }

  /** Syncs folders, and closes all of them but the last ones. */
  async function syncAll(folders: Folder[], stay: number): Promise<void> {
    await Promise.all(folders.map(sync))
    for (const folder of folders.splice(0, folders.length - stay)) folder.close()
  }

  return {
    sync,
    async settle(names, folder) {
      await Promise.all([sync(folder), settleAbove(names, folder).catch(unlessGone)])
    },
    forget() {
      generation += 1
      durable.clear()
    },
  }
}

/** Who moved or removed a folder meanwhile makes that durable themselves. */
function unlessGone(error: unknown): void {
  if (!isDiskError(error, 'ENOENT', 'ENOTDIR')) throw error
}

function ignore(): void {}
