import { constants } from 'node:fs'
import { mkdir, statfs } from 'node:fs/promises'
import { isNodekeepError, NodekeepError, type StorageBackend } from '@nodekeep/plugin-sdk'
import { createKeyedLocks } from './changes/keyed-locks.ts'
import { createRoom } from './changes/room.ts'
import { type Disk, localDisk } from './disk/disk.ts'
import { isDiskError, storageError, unlessMissing } from './disk/disk-errors.ts'
import { openTrusted } from './folders/folder.ts'
import { createFolderSync } from './folders/folder-sync.ts'
import { removeTree } from './folders/removal.ts'
import { createRoot, type Root } from './folders/root.ts'
import { openSideFolder, type SideFolder, sweep } from './folders/side-folder.ts'
import { LocalBackend } from './local-backend.ts'

const { O_WRONLY, O_CREAT, O_EXCL } = constants

export interface LocalBackendOptions {
  /** The folder that the files are in, absolute. It is made when there is none. */
  readonly root: string
  /** Memory for the bytes of small files that are read again and again, in bytes. */
  readonly cacheBytes?: number
  /** Hears of what could not be removed, which the next start tries again. */
  readonly onLeftover?: (error: unknown) => void
  /** For tests: stands between the backend and the system. */
  readonly disk?: Disk
}

/** 32 MiB. */
export const defaultCacheBytes = 32 * 1024 * 1024

/** File systems that keep everything in memory (`f_type` of statfs(2)): tmpfs and ramfs. */
const memoryFileSystems = new Set([0x01021994, 0x858458f6])

/** The roots that are open in this process, by device and inode: two backends would sweep each other's files away. */
const openRoots = new Set<string>()

/**
 * Opens the storage in a folder and tidies up what an earlier process left unfinished.
 *
 * @throws NodekeepError when the folder cannot be used, or is in use already
 */
export async function openLocalBackend(options: LocalBackendOptions): Promise<StorageBackend> {
  const { disk = localDisk } = options
  try {
    await mkdir(options.root, { recursive: true, mode: 0o700 })
    const root = createRoot(disk, await openTrusted(disk, options.root))
    return await openAt(disk, root, options).catch((error: unknown) => {
      root.close()
      throw error
    })
  } catch (error) {
    throw openingError(error, options.root)
  }
}

/** Says which folder cannot be used: a node may have several. */
function openingError(thrown: unknown, root: string): unknown {
  const error = storageError(thrown)
  if (error === thrown || !isNodekeepError(error)) return error
  const reason = isDiskError(thrown, 'EEXIST', 'ENOTDIR') ? 'A file stands in the way.' : error.message
  return new NodekeepError(error.code, `The storage folder ${root} cannot be used. ${reason}`, {
    cause: thrown,
  })
}

async function openAt(disk: Disk, root: Root, options: LocalBackendOptions): Promise<StorageBackend> {
  const { dev, ino } = disk.fstatSync(root.fd)
  const key = `${dev}:${ino}`
  if (openRoots.has(key)) {
    throw new NodekeepError(
      'CONFLICT',
      `Two storages cannot share the folder ${options.root}. Choose another root.`,
    )
  }
  openRoots.add(key)
  try {
    const side = await openSideFolder(disk, root)
    return await backendAt(disk, root, side, options, () => openRoots.delete(key))
  } catch (error) {
    openRoots.delete(key)
    throw error
  }
}

async function backendAt(
  disk: Disk,
  root: Root,
  side: SideFolder,
  { root: rootPath, cacheBytes = defaultCacheBytes, onLeftover = () => {} }: LocalBackendOptions,
  release: () => void,
): Promise<StorageBackend> {
  const canSync = await succeeds(disk.fsync(root.fd))
  const durable = canSync && !memoryFileSystems.has((await statfs(root.at('.'))).type)
  let discarding: Promise<void> | null = null
  const room = createRoom(disk, side, () => discarding)
  const store = {
    disk,
    root,
    side,
    locks: createKeyedLocks(),
    syncs: createFolderSync(disk, canSync),
    room,
    hasLinks: await hasLinks(disk, side),
    discard(name: string) {
      const removing = (discarding ?? Promise.resolve())
        .then(() => removeTree(disk, side, name))
        .catch(onLeftover)
        .then(() => {
          if (discarding === removing) discarding = null
        })
      discarding = removing
    },
  }
  await sweep(store)
  return new LocalBackend(store, { rootPath, durable, cacheBytes }, async () => {
    await discarding
    side.close()
    root.close()
    release()
  })
}

/** FAT has none, and some shares of other machines. */
async function hasLinks(disk: Disk, side: SideFolder): Promise<boolean> {
  const [file, second] = [side.freshName('probe'), side.freshName('probe')].map((name) => side.at(name)) as [
    string,
    string,
  ]
  disk.closeSync(await disk.open(file, O_WRONLY | O_CREAT | O_EXCL, 0o600))
  const linked = await succeeds(disk.link(file, second))
  await disk.unlink(file)
  await disk.unlink(second).catch(unlessMissing)
  return linked
}

async function succeeds(attempt: Promise<void>): Promise<boolean> {
  return attempt.then(
    () => true,
    () => false,
  )
}
