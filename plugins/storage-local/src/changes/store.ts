import type { KeyedLock } from '@nodekeep/plugin-sdk'
import type { Disk } from '../disk/disk.ts'
import type { FreeSpace } from '../disk/free-space.ts'
import type { Folder } from '../folders/folder.ts'
import type { FolderSync } from '../folders/folder-sync.ts'
import type { DiscardQueue } from '../folders/remove-tree.ts'
import type { StagingFolder } from '../folders/staging-folder.ts'

/** The parts of one backend that its changes share. */
export interface Store {
  readonly disk: Disk
  readonly root: Folder
  readonly staging: StagingFolder
  /** One change at a time per path. */
  readonly locks: KeyedLock
  readonly syncs: FolderSync
  readonly freeSpace: FreeSpace
  /** Whether the file system has hard links. */
  readonly hasLinks: boolean
  readonly discards: DiscardQueue
}
