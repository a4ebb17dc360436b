import { defineService } from '../service.ts'
import type { StorageConditions, StorageEntry, StorageReadOptions, StorageRemoveOptions } from './storage.ts'
import type { User } from './users.ts'

/** A file or folder as its user sees it. */
export interface FileEntry extends StorageEntry {
  /** Absolute path within the user's files. */
  readonly path: string
}

/** A file that is open for reading. */
export interface FileReading {
  readonly entry: FileEntry
  /** The requested bytes. Leaving the loop early closes the file. */
  readonly content: AsyncIterable<Uint8Array>
}

/** The origin of a change, for the journal. */
export interface FileChangeOptions {
  /** The name of the device or client, in 1 to 100 characters. */
  readonly by?: string
}

/** Options of a write. */
export interface FileWriteOptions extends StorageConditions, FileChangeOptions {
  /** Bytes that will arrive, if known. A file that cannot fit is then refused at once. */
  readonly size?: number
  /** Allows the memory of chunks to be freed early: see `freeChunks` of a backend's write. */
  readonly freeChunks?: boolean
  readonly signal?: AbortSignal
}

/** Options of a move. */
export interface FileMoveOptions extends FileChangeOptions {
  /** Replaces a file or folder at the destination. Without it, the move is a CONFLICT. */
  readonly overwrite?: boolean
  readonly signal?: AbortSignal
}

/**
 * The files of one user. Paths are checked and normalized here, once: no valid path leads out of the user's files. The
 * limit of `storage.maxFileSize` applies here too. A change is in the journal when its promise resolves.
 *
 * Methods throw NodekeepError: VALIDATION_ERROR for a bad path, NOT_FOUND, CONFLICT, PRECONDITION_FAILED,
 * PAYLOAD_TOO_LARGE, INSUFFICIENT_STORAGE, SERVICE_UNAVAILABLE for a mount that is unreachable.
 */
export interface UserFiles {
  stat(path: string): Promise<FileEntry>
  /** The entries of a folder, including mounts, sorted by name in the order of UTF-16 code units. */
  list(path: string): AsyncIterable<FileEntry>
  read(path: string, options?: StorageReadOptions): Promise<FileReading>
  /**
   * Stores a complete file or nothing. Missing parents are made.
   *
   * @throws TypeError for content that yields anything but `Uint8Array`; the file does not change then
   */
  write(path: string, content: AsyncIterable<Uint8Array>, options?: FileWriteOptions): Promise<FileEntry>
  /** Makes a folder and its parents. An existing folder is no error. */
  makeDirectory(path: string, options?: FileChangeOptions): Promise<FileEntry>
  /**
   * Removes a file, or a folder with everything in it. With `onlyIfEmpty`, a folder that is not empty is a CONFLICT. With
   * `ifRevision`, a folder is PRECONDITION_FAILED, because folders have no revision.
   */
  remove(path: string, options?: FileChangeOptions & StorageRemoveOptions): Promise<void>
  /**
   * Moves or renames. Across mounts it copies, verifies, then removes the copied entries from the source. CONFLICT also
   * when the copy is complete but entries stay at the source, because they changed meanwhile or cannot be copied.
   * VALIDATION_ERROR when something in a folder would get too long a path, which a move to a longer path checks by
   * walking the folder.
   */
  move(source: string, destination: string, options?: FileMoveOptions): Promise<FileEntry>
}

/** Access to files for every other feature. */
export interface FilesService {
  for(user: Pick<User, 'uuid'>): UserFiles
}

/** The `files` feature. */
export const Files = defineService<FilesService>('files', 1)
