import { constants } from 'node:fs'
import { mkdir, statfs } from 'node:fs/promises'
import {
  createStorageBackend,
  isNodekeepError,
  KeyedLock,
  lockFolder,
  NodekeepError,
  type StorageBackend,
} from '@nodekeep/plugin-sdk'
import { recover } from './changes/recovery.ts'
import { type Disk, localDisk } from './disk/disk.ts'
import { isDiskError, storageError, unlessMissing } from './disk/disk-errors.ts'
import { probeFileTimes, withoutBirths } from './disk/file-times.ts'
import { FreeSpace } from './disk/free-space.ts'
import { type Folder, openTrusted } from './folders/folder.ts'
import { FolderSync } from './folders/folder-sync.ts'
import { DiscardQueue } from './folders/remove-tree.ts'
import { openStagingFolder, type StagingFolder } from './folders/staging-folder.ts'
import { LocalDriver } from './local-driver.ts'

const { O_WRONLY, O_CREAT, O_EXCL } = constants

interface LocalBackendOptions {
  /** The folder of the files, an absolute path. It is made if it does not exist. */
  readonly root: string
  /** Called with the reason why a removed file or folder could not be deleted. The next start tries again. */
  readonly onLeftover?: (error: unknown) => void
  /** Called when the folder cannot be watched any more. Hints to scan everything come every 10 minutes then. */
  readonly onWatchFailure?: (error: Error) => void
  /** A replacement for the calls to the system, for tests. */
  readonly disk?: Disk
}

/** File systems that keep everything in memory (`f_type` of statfs(2)): tmpfs and ramfs. */
const memoryFileSystems = new Set([0x01021994, 0x858458f6])

/** The open roots of this process, by device and inode. Two backends would delete each other's unfinished files. */
const openRoots = new Set<string>()

/**
 * Opens the storage in a folder, and cleans up unfinished work of an earlier process.
 *
 * @throws NodekeepError if the folder cannot be used, or is in use
 */
export async function openLocalBackend(options: LocalBackendOptions): Promise<StorageBackend> {
  const { disk = localDisk } = options
  try {
    await mkdir(options.root, { recursive: true, mode: 0o700 })
    const root = await openTrusted(disk, options.root)
    return await openAt(disk, root, options).catch((error: unknown) => {
      root.close()
      throw error
    })
  } catch (error) {
    throw openingError(error, options.root)
  }
}

/** Names the folder in the error: a node may have several. */
function openingError(thrown: unknown, root: string): unknown {
  const error = storageError(thrown)
  if (error === thrown || !isNodekeepError(error)) return error
  const reason = isDiskError(thrown, 'EEXIST', 'ENOTDIR') ? 'A file is in its place.' : error.message
  return new NodekeepError(error.code, `The storage folder ${root} cannot be used. ${reason}`, {
    cause: thrown,
  })
}

async function openAt(disk: Disk, root: Folder, options: LocalBackendOptions): Promise<StorageBackend> {
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
    const staging = await openStagingFolder(disk, root)
    const lock = lockFolder(options.root)
    if (lock === null) {
      throw new NodekeepError(
        'CONFLICT',
        `Another node uses the storage folder ${options.root}. Stop that node, or choose another root.`,
      )
    }
    try {
      return await backendAt(disk, root, staging, options, () => {
        lock[Symbol.dispose]()
        openRoots.delete(key)
      })
    } catch (error) {
      lock[Symbol.dispose]()
      throw error
    }
  } catch (error) {
    openRoots.delete(key)
    throw error
  }
}

async function backendAt(
  anyDisk: Disk,
  root: Folder,
  staging: StagingFolder,
  { root: rootPath, onLeftover = () => {}, onWatchFailure = () => {} }: LocalBackendOptions,
  release: () => void,
): Promise<StorageBackend> {
  const probePaths = [staging.at(staging.freshName('probe')), staging.at(staging.freshName('probe'))] as const
  const times = await probeFileTimes(anyDisk, ...probePaths)
  const disk = times.haveBirths ? anyDisk : withoutBirths(anyDisk)
  const canSync = await succeeds(disk.fsync(root.fd))
  const isDurable = canSync && !memoryFileSystems.has((await statfs(root.at('.'))).type)
  const discards = new DiscardQueue(disk, staging, onLeftover)
  const store = {
    disk,
    root,
    staging,
    locks: new KeyedLock(),
    syncs: new FolderSync(disk, canSync),
    freeSpace: new FreeSpace(disk, staging.at('.'), () => discards.pending),
    hasLinks: await hasLinks(disk, staging),
    discards,
  }
  await recover(store)
  const close = async () => {
    await discards.pending
    staging.close()
    root.close()
    release()
  }
  return createStorageBackend(
    new LocalDriver(store, { rootPath, isDurable, keepsTimes: times.canBeSet, onWatchFailure }, close),
    // A limit would take a quarter of the CPU time of a small read.
    { timeLimitMs: Number.POSITIVE_INFINITY },
  )
}

/** FAT has no hard links, and some network file systems have none. */
async function hasLinks(disk: Disk, staging: StagingFolder): Promise<boolean> {
  const file = staging.at(staging.freshName('probe'))
  const second = staging.at(staging.freshName('probe'))
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
