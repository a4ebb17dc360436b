import { defineService } from '../service.ts'
import type { StorageEntry, StorageReading, StorageReadOptions, StorageWriteOptions } from './storage.ts'
import type { User } from './users.ts'

/** A file or folder as its user sees it. */
export interface FileEntry extends StorageEntry {
  /** Absolute path within the user's files. */
  readonly path: string
}

/**
 * The files of one user. Paths are checked and normalised here, once: a path that leads out of the user's files
 * can't be written down. Limits of size and quota hold here too.
 *
 * Methods throw NodekeepError: VALIDATION_ERROR for a bad path, NOT_FOUND, CONFLICT, PRECONDITION_FAILED,
 * PAYLOAD_TOO_LARGE, INSUFFICIENT_STORAGE.
 */
export interface UserFiles {
  stat(path: string): Promise<FileEntry>
  list(path: string): AsyncIterable<FileEntry>
  read(path: string, options?: StorageReadOptions): Promise<StorageReading>
  write(path: string, content: AsyncIterable<Uint8Array>, options?: StorageWriteOptions): Promise<FileEntry>
  makeDirectory(path: string): Promise<FileEntry>
  remove(path: string): Promise<void>
  /** CONFLICT when the destination exists, unless `overwrite`. Across mounts it copies, verifies, then removes. */
  move(source: string, destination: string, options?: { readonly overwrite?: boolean }): Promise<FileEntry>
}

/** Access to files for every other feature. */
export interface FilesService {
  for(user: Pick<User, 'uuid'>): UserFiles
}

/** The `files` feature. */
export const Files = defineService<FilesService>('files', 1)
