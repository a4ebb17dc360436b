import type { Disk } from '../disk/disk.ts'
import { isDiskError } from '../disk/disk-errors.ts'
import type { Folder } from './folder.ts'
import type { Root } from './root.ts'
import { openFolder } from './walk.ts'

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
const REMEMBERED = 10_000

/** @param possible whether the file system can sync folders; without that, all this does nothing */
export function createFolderSync(disk: Disk, root: Root, possible: boolean): FolderSync {
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

  async function settleAbove(names: readonly string[], folder: Folder): Promise<void> {
    const path = names.join('/')
    const current = folder.identity()
    if (!possible || names.length === 0 || durable.get(path) === current) return
    const begun = generation
    const parentNames = names.slice(0, -1)
    const parent = await openFolder(disk, root, parentNames)
    try {
      await Promise.all([sync(parent), settleAbove(parentNames, parent)])
    } finally {
      parent.close()
    }
    if (begun !== generation) return
    if (durable.size >= REMEMBERED) durable.clear()
    durable.set(path, current)
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
