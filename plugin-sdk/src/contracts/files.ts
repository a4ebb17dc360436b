import { defineService } from '../service.ts'
import type { ChangeMaker } from './change-log.ts'
import type {
  StorageConditions,
  StorageEntry,
  StorageListEntry,
  StorageListOptions,
  StorageReadOptions,
  StorageRemoveOptions,
} from './storage.ts'
import type { User } from './users.ts'

/** A file or folder as its user sees it. */
export interface FileEntry extends StorageEntry {
  /** Absolute path within the user's files. */
  readonly path: string
  /** The SHA-256 of the content, hexadecimal, where `stat` knows it: see `hash` of `UserFileIndex`. */
  readonly sha256?: string
}

/** A file that was just written. */
export interface WrittenFile extends FileEntry {
  /** Whether the undo can take the write back: what it has replaced is kept, or else the new file would be. */
  readonly isUndoable?: boolean
}

/** An entry of a listing. What it leaves out, `stat` tells. */
export interface FileListEntry extends StorageListEntry {
  /** Absolute path within the user's files. */
  readonly path: string
}

/** A file that is open for reading. */
export interface FileReading {
  /** Without `created` and `sha256`, which `stat` tells. They take a query that readers rarely need. */
  readonly entry: Omit<FileEntry, 'created' | 'sha256'>
  /** The requested bytes. Leaving the loop early closes the file. */
  readonly content: AsyncIterable<Uint8Array>
}

/** The origin of a change, for the journal. `changeOrigin` makes it from a request. */
export interface FileChangeOptions {
  /** The name that the device or client gives itself, in 1 to 100 characters. Not `disk`, which stands for other programs. */
  readonly by?: string
  /** The session, API token, program or plugin that makes the change. */
  readonly maker?: ChangeMaker
  /** Changes that belong together have the same group: 1 to 64 letters, digits, `-`, `_` and `.`. */
  readonly group?: string
}

/**
 * Room of a user that is held for content before it is a file, such as the parts of an unfinished upload: it counts as taken, also against
 * the user's quota. It is not kept over a restart.
 */
export interface FileRoom extends Disposable {
  /** Bytes that are held now. */
  readonly bytes: number
  /**
   * Holds more bytes. Nothing changes if it fails.
   *
   * @throws NodekeepError INSUFFICIENT_STORAGE, with a message for the user, if the user may not store as many (with the reason
   *   `quota-not-exceeded`, the condition of RFC 4331 that does not hold), or if the disk is full
   */
  extend(bytes: number): Promise<void>
  /** Holds fewer bytes: at most as many are given back as are held. */
  reduce(bytes: number): void
  /** Gives all bytes back, and holds none from then on. */
  release(): void
}

/** The room of a user. */
export interface RoomLeft {
  /** Bytes of all files of the user, with the trash and former versions. */
  readonly taken: number
  /**
   * Bytes that the user may store in addition, by the quota of the user and by the storage, but for what others store meanwhile; null if neither is
   * limited. What is in the trash can give way to more.
   */
  readonly left: number | null
}

/** Options of a write. */
export interface FileWriteOptions extends StorageConditions, FileChangeOptions {
  /** The number of bytes, if known. A file that cannot fit is then refused at once. */
  readonly size?: number
  /** The time of modification that the file gets, if its storage can keep it: see `modified` of `StorageWriteOptions`. */
  readonly modified?: Date
  /**
   * The SHA-256 of the content, hexadecimal, for the index. Only for a caller that compares it with the bytes itself, and lets the content
   * throw before its end if they differ: nobody does so again.
   */
  readonly sha256?: string
  /** Room of the same user for the content, from `holdRoom`: the file takes its bytes from it, and only what it lacks is held in addition. */
  readonly room?: FileRoom
  /** Lets the backend free the memory of chunks early: see `freeChunks` of `StorageWriteOptions`. */
  readonly freeChunks?: boolean
  readonly signal?: AbortSignal
}

/** Options of a move or a copy. The conditions are checked when no other change of the user can come between. */
export interface FileMoveOptions extends FileChangeOptions {
  /** Replaces a file or folder at the destination. Without it, something at the destination is a CONFLICT. */
  readonly overwrite?: boolean
  /** The source must be a file with this revision. For a folder, any value fails with PRECONDITION_FAILED. */
  readonly ifRevision?: string
  /** Nothing may exist at the destination, whatever `overwrite` says. Otherwise PRECONDITION_FAILED. */
  readonly ifAbsent?: boolean
  readonly signal?: AbortSignal
}

/** Options of a removal. */
export interface FileRemoveOptions extends FileChangeOptions, StorageRemoveOptions {
  /** Removes for good, also where a trash would keep it. Default: false */
  readonly permanent?: boolean
}

/**
 * The files of one user. Paths are checked and normalized here, once: no valid path is outside of the user's files. The
 * limit of `storage.maxFileSize` applies here too. A change is in the journal when its promise resolves.
 *
 * Methods throw NodekeepError: VALIDATION_ERROR for a bad path, NOT_FOUND, CONFLICT, PRECONDITION_FAILED,
 * PAYLOAD_TOO_LARGE, INSUFFICIENT_STORAGE, SERVICE_UNAVAILABLE for an unreachable mount.
 */
export interface UserFiles {
  stat(path: string): Promise<FileEntry>
  /**
   * Yields the entries of a folder, including mounts, sorted by name in the order of UTF-16 code units. A listing takes few requests to the
   * storage: a reader that needs the revision or the date of creation of an entry without it asks `stat`.
   */
  list(path: string, options?: StorageListOptions): AsyncIterable<FileListEntry>
  read(path: string, options?: StorageReadOptions): Promise<FileReading>
  /**
   * Stores a complete file or nothing, and makes missing parents.
   *
   * @throws TypeError if the content yields anything but `Uint8Array`; the file then does not change
   */
  write(path: string, content: AsyncIterable<Uint8Array>, options?: FileWriteOptions): Promise<WrittenFile>
  /** Makes a folder and its parents. An existing folder is no error. */
  makeDirectory(path: string, options?: FileChangeOptions): Promise<FileEntry>
  /**
   * Removes a file, or a folder with its whole content. It goes to the trash if its mount has one, unless it is an empty folder that
   * `onlyIfEmpty` removes. With `onlyIfEmpty`, a folder that is not empty is a CONFLICT. With
   * `ifRevision`, a folder is PRECONDITION_FAILED, because folders have no revision.
   */
  remove(path: string, options?: FileRemoveOptions): Promise<void>
  /**
   * Moves or renames. Across mounts it copies, verifies, then removes the copied entries from the source. CONFLICT also
   * if the copy is complete but entries stay at the source, because they changed meanwhile or cannot be copied.
   * VALIDATION_ERROR if the path of an entry in a folder would become too long. A move to a longer path walks the folder
   * to check that.
   *
   * On a storage without `supports.atomicFolders`, a folder moves file by file. If the storage fails meanwhile, each file is at
   * one of the two paths, or at both, and the message of the error says so.
   */
  move(source: string, destination: string, options?: FileMoveOptions): Promise<FileEntry>
  /**
   * Copies a file, or a folder with all that listings show of it. Each file is verified, unless its storage copies it by
   * itself. The copy appears at the destination in one step, on a storage without `supports.atomicFolders` entry by entry. Changes of both paths wait meanwhile. The files keep `modified`, where the storage can set it.
   * CONFLICT for a mount and a folder that contains one: copy what is in it. Other errors are those of `move`.
   */
  copy(source: string, destination: string, options?: FileMoveOptions): Promise<FileEntry>
}

/** Gives other features access to files. */
export interface FilesService {
  /** Bytes of the largest file that a user may store. */
  readonly maxFileSize: number
  /**
   * The files of a user.
   *
   * @param origin the origin of the changes, as far as a change does not name its own. A change without one has no maker
   * @throws NodekeepError VALIDATION_ERROR if the origin has another form
   */
  for(user: Pick<User, 'uuid'>, origin?: FileChangeOptions): UserFiles
  /**
   * Holds room for content that the caller stores in its data folder until it is a file. Release it in any case.
   *
   * @param bytes that are stored already, such as before a restart. They are not refused. Default: 0
   */
  holdRoom(user: Pick<User, 'uuid'>, bytes?: number): FileRoom
  /** How much room a user takes, and has left for more files in a folder. */
  roomAt(user: Pick<User, 'uuid'>, folder: string): Promise<RoomLeft>
}

/** The `files` feature. */
export const Files = defineService<FilesService>('files', 1)
