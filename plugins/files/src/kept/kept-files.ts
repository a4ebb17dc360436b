import type {
  ChangeMaker,
  FileChangeOptions,
  FileEntry,
  FileReading,
  StorageReadOptions,
  User,
} from '@nodekeep/plugin-sdk'

/** A file, or a folder with all that was in it, in the trash. */
export interface TrashItem {
  /** Names the item among all of its user. It is never used again. */
  readonly id: string
  /** The path that it had. */
  readonly path: string
  readonly type: 'file' | 'directory'
  /** Bytes, of a folder of everything in it. */
  readonly size: number
  /** Files and folders in it; 0 for a file. */
  readonly entries: number
  readonly deleted: Date
  /** The maker of the deletion. Undefined where it is not known. */
  readonly maker?: ChangeMaker
}

/** A content that a file had before. */
export interface FileVersion {
  /** Names the version among all of its user. It is never used again. */
  readonly id: string
  /** Bytes. */
  readonly size: number
  /** The revision that the file had, and has again when the version is restored. */
  readonly revision: string
  readonly modified: Date
  /** When it was replaced. */
  readonly replaced: Date
  /** The maker of the change that replaced it. Undefined where it is not known. */
  readonly maker?: ChangeMaker
  /** The SHA-256 of its bytes, hexadecimal, where it is known. */
  readonly sha256?: string
}

/** A part of a list. */
export interface KeptPage<T> {
  readonly items: readonly T[]
  /** For the next part; null after the last one. */
  readonly cursor: string | null
}

/** The part of a list to read. */
export interface KeptPageOptions {
  /** Of the part before. By default the list begins with the newest. */
  readonly cursor?: string
  /** At most 1,000; 100 by default. */
  readonly limit?: number
}

/**
 * The files of one user that are kept: deleted ones in the trash, and former versions. Both count as room that the user takes.
 *
 * Methods throw NodekeepError: NOT_FOUND for an id that is not kept any more, and as `UserFiles` does.
 */
export interface UserKeptFiles {
  /** Whether a deletion of this path goes to the trash, and whether an overwrite of it keeps a version. */
  keeps(path: string): { readonly trash: boolean; readonly versions: boolean }
  /** Lists the trash, the newest first. */
  trash(options?: KeptPageOptions): Promise<KeptPage<TrashItem>>
  /**
   * Puts an item back, with its id in the index and its versions. Missing folders are made. If something is at the path, the item
   * gets a free name beside it.
   *
   * @param destination another path on the same mount; by default the former one
   * @returns the entry, with its path
   * @throws NodekeepError CONFLICT if a file is where a folder above the path should be, or the path is on another mount
   */
  restore(id: string, destination?: string): Promise<FileEntry>
  /** Deletes an item for good. */
  deleteItem(id: string): Promise<void>
  /** Deletes all items for good, and the versions of the files in them. Those on a mount that does not answer stay, and fail the call at its end. */
  emptyTrash(): Promise<void>
  /** Lists the former versions of a file, the newest first. */
  versions(path: string, options?: KeptPageOptions): Promise<KeptPage<FileVersion>>
  /** Tells the size and the revision of a version of the file that is at a path. */
  statVersion(path: string, id: string): Promise<FileReading['entry']>
  /** Reads a version of the file that is at a path. */
  readVersion(path: string, id: string, options?: StorageReadOptions): Promise<FileReading>
  /** Makes a version the content of the file again. The present content becomes a version. CONFLICT if its storage cannot keep it now. */
  restoreVersion(path: string, id: string): Promise<FileEntry>
  /** Deletes a version for good. */
  deleteVersion(path: string, id: string): Promise<void>
}

/** Gives the routes access to what is kept. */
export interface KeptFilesService {
  /** Days for which deleted files stay in the trash. */
  readonly trashDays: number
  /** @param origin the origin of the changes, as in `FilesService` */
  for(user: Pick<User, 'uuid'>, origin?: FileChangeOptions): UserKeptFiles
}
