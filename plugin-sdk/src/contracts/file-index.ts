import { defineService } from '../service.ts'
import type { StorageEntry } from './storage.ts'
import type { User } from './users.ts'

/** A file or folder as the index has it: as it was after the last recorded change. */
export interface IndexedEntry {
  /**
   * Names the entry for good: it stays the same when the entry moves, when a file is overwritten, and over restarts. No other entry ever
   * gets it. If the index is lost, all entries get others. At most 20 characters.
   */
  readonly id: string
  /** Absolute path within the user's files. */
  readonly path: string
  readonly name: string
  readonly type: StorageEntry['type']
  /** Bytes; for a folder, those of all files below it. */
  readonly size: number
  /** The number of entries below a folder; 0 for a file. */
  readonly below: number
  /** `null` for a folder, and for a file whose storage has not told it yet. */
  readonly revision: string | null
  /** `null` for a folder, and for a file whose storage has not told it yet. */
  readonly modified: Date | null
  /** The SHA-256 of the content, hexadecimal; `null` for a folder, and where it is not known. */
  readonly sha256: string | null
}

/** How much room a folder takes. */
export interface FolderUsage {
  readonly path: string
  /** Bytes of all files below the folder. */
  readonly bytes: number
  /** The number of entries below the folder. */
  readonly entries: number
  /** Whether the index has all entries. It is built in the background: until then, the numbers are too small. */
  readonly isComplete: boolean
  /** The largest folders in it, largest first, and the mounts. */
  readonly folders: readonly IndexedFolder[]
}

/** A folder in the answer about another one. */
export type IndexedFolder = Pick<IndexedEntry, 'path' | 'name' | 'size' | 'below'>

/** How much room the files of a user take on one mount. */
export interface MountUsage {
  readonly userUuid: string
  /** The path of the mount. */
  readonly mount: string
  readonly bytes: number
  readonly entries: number
  readonly isComplete: boolean
}

/** Options of a search by name. */
export interface FindOptions {
  /** At most this many entries, up to 1,000. Default: 100. */
  readonly limit?: number
  /** The `next` of the page before. */
  readonly after?: string
  readonly signal?: AbortSignal
}

/** The content of a file at one time. */
export interface FileContentHash {
  readonly revision: string
  /** Bytes. */
  readonly size: number
  /** Hexadecimal. */
  readonly sha256: string
}

/** Options of a hash. */
export interface HashOptions {
  /** The file must have this revision. */
  readonly revision?: string
  /**
   * Reads the file again, although its hash is known: bytes on a disk may change by themselves. The answer is about the bytes of now; the
   * index keeps the hash that it knew, so that damage is found each time.
   */
  readonly isFresh?: boolean
  readonly signal?: AbortSignal
}

/** Files to look for. */
export interface WantedFiles {
  /** Bytes. */
  readonly sizes: ReadonlySet<number>
  /** Names in NFC, without folders. */
  readonly names: ReadonlySet<string>
}

/**
 * The index of one user's files. Questions are answered without asking a storage, except `hash`. A change of the node is there when its
 * promise has resolved, a change of another program when it has its row in the journal.
 */
export interface UserFileIndex {
  /** Whether the index has all entries. */
  isComplete(): Promise<boolean>
  /**
   * How much room a folder takes, exact to the last recorded change.
   *
   * @throws NodekeepError NOT_FOUND if the index has no such folder
   */
  usage(path?: string): Promise<FolderUsage>
  /**
   * Finds entries with a text in their name. Case and accents do not matter. Those that changed last come first.
   *
   * @returns a page, and what its next one begins after; `null` after the last page
   */
  find(
    text: string,
    options?: FindOptions,
  ): Promise<{ readonly entries: readonly IndexedEntry[]; readonly next: string | null }>
  /**
   * Lists entries that are new, renamed, moved or have another content or hash since the cursor, in the order of their last change. What is
   * in a folder that moved does not count as moved, and what comes back from the trash counts as new. An entry that is gone is not told: ask `entry` for those that you have.
   * A page may have no entries although more follow. Nothing is left when its cursor is that of the page before.
   *
   * @param cursor that of the page before; empty for all entries. It holds over restarts. If the index was made anew, or another disk is
   * mounted, it begins again with all entries
   * @param limit at most 1,000. Default: 1,000
   */
  changed(
    cursor: string,
    limit?: number,
  ): Promise<{ readonly entries: readonly IndexedEntry[]; readonly cursor: string }>
  /** The entry with an id; `null` if it is gone. */
  entry(id: string): Promise<IndexedEntry | null>
  /** The entry at a path; `null` if the index has none there. The root and the place of a mount are no entries. */
  at(path: string): Promise<IndexedEntry | null>
  /** The files that have a content, as far as hashes are known. At most 100. */
  withContent(sha256: string): Promise<readonly IndexedEntry[]>
  /**
   * The files that have one of some sizes or names. All rows of the user are read, so ask for many at once. A file that changes meanwhile
   * may come twice.
   */
  matching(wanted: WantedFiles, signal?: AbortSignal): AsyncIterable<IndexedEntry>
  /**
   * The entries of a folder that have one of some names, by name: those that the index knows. A mount is none of them, and neither is `/`.
   *
   * @param names at most 1,000
   */
  named(folder: string, names: readonly string[]): Promise<ReadonlyMap<string, IndexedEntry>>
  /**
   * The SHA-256 of a file. It is read if the hash is not known; other users' requests are not held up. `null` if nothing is there, or if
   * the file has or gets another revision.
   *
   * @throws NodekeepError SERVICE_UNAVAILABLE if the storage does not work now; the reason of the signal
   */
  hash(path: string, options?: HashOptions): Promise<FileContentHash | null>
  /**
   * Remembers the SHA-256 of a file that the caller has computed from all its bytes. Nothing happens if the index has another revision of the
   * file, or a hash of this one.
   */
  setHash(path: string, hash: FileContentHash): Promise<void>
}

/** The index of all files: who has how much, and where it is. */
export interface FileIndex {
  for(user: Pick<User, 'uuid'>): UserFileIndex
  /** The room that the files of all users take, by mount. */
  usage(): AsyncIterable<MountUsage>
}

/** The index of the `files` feature. */
export const FileIndex = defineService<FileIndex>('file-index', 1)
