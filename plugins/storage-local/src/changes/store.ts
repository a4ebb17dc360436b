import type { Disk } from '../disk/disk.ts'
import type { FolderSync } from '../folders/folder-sync.ts'
import type { Root } from '../folders/root.ts'
import type { SideFolder } from '../folders/side-folder.ts'
import type { KeyedLocks } from './keyed-locks.ts'
import type { Room } from './room.ts'

/** What the changes of one backend share. */
export interface Store {
  readonly disk: Disk
  readonly root: Root
  readonly side: SideFolder
  readonly locks: KeyedLocks
  readonly syncs: FolderSync
  readonly room: Room
  /** Whether the file system knows hard links. */
  readonly hasLinks: boolean
  /** Begins to remove something from the side folder, after what was discarded before. */
  discard(name: string): void
}
