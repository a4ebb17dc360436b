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
  /** The bytes that were asked for. Leaving the loop early closes the file. */
  readonly content: AsyncIterable<Uint8Array>
}

/** Who or what makes a change, for the journal. */
export interface FileChangeOptions {
  /** A device or client, as it calls itself; at most 100 characters. */
  readonly by?: string
}

/** What goes with a write of a file. */
export interface FileWriteOptions extends StorageConditions, FileChangeOptions {
  /** Bytes that will come, where known: what cannot fit is refused at once. */
  readonly size?: number
  /** Lets the memory of chunks be freed early: see `freeChunks` of a backend's write. */
  readonly freeChunks?: boolean
  readonly signal?: AbortSignal
}

/** What goes with a move. */
export interface FileMoveOptions extends FileChangeOptions {
  /** Replaces what is at the destination. Without it, that is a CONFLICT. */
  readonly overwrite?: boolean
  readonly signal?: AbortSignal
}

/**
 * The files of one user. Paths are checked and normalized here, once: a path that leads out of the user's files
 * cannot be written down. The limit of size holds here too, and every change is in the journal when it resolves.
 *
 * Methods throw NodekeepError: VALIDATION_ERROR for a bad path, NOT_FOUND, CONFLICT, PRECONDITION_FAILED,
 * PAYLOAD_TOO_LARGE, INSUFFICIENT_STORAGE, SERVICE_UNAVAILABLE for a mount that is out of reach.
 */
export interface UserFiles {
  stat(path: string): Promise<FileEntry>
  /** The entries of a folder, sorted by name in the order of UTF-16 code units; mounts are among them. */
  list(path: string): AsyncIterable<FileEntry>
  read(path: string, options?: StorageReadOptions): Promise<FileReading>
  /**
   * Stores a file whole or not at all. Missing parents are made.
   *
   * @throws TypeError for content that yields anything but `Uint8Array`; nothing is changed then
   */
  write(path: string, content: AsyncIterable<Uint8Array>, options?: FileWriteOptions): Promise<FileEntry>
  /** Makes a folder and its parents. One that exists is fine. */
  makeDirectory(path: string, options?: FileChangeOptions): Promise<FileEntry>
  /**
   * Removes a file, or a folder with all that is in it; a folder that is not empty stays with `onlyIfEmpty`: CONFLICT. A
   * folder has no revision: PRECONDITION_FAILED with `ifRevision`.
   */
  remove(path: string, options?: FileChangeOptions & StorageRemoveOptions): Promise<void>
  /**
   * Moves or renames. Across mounts it copies, verifies, then removes what it copied. CONFLICT also when the copy is at
   * the destination and something stays at the source: what was changed there meanwhile, or cannot be copied.
   */
  move(source: string, destination: string, options?: FileMoveOptions): Promise<FileEntry>
}

/** Access to files for every other feature. */
export interface FilesService {
  for(user: Pick<User, 'uuid'>): UserFiles
}

/** The `files` feature. */
export const Files = defineService<FilesService>('files', 1)
