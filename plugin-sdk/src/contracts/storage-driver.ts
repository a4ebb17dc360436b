import type { BackupOmission } from './backup.ts'
import type { PreparedSnapshot } from './prepared-snapshot.ts'
import type {
  StorageCapabilities,
  StorageConditions,
  StorageEntry,
  StorageKnowledge,
  StorageListEntry,
  StorageListOptions,
  StorageMoveOptions,
  StorageRemoveOptions,
  StorageReplacement,
  StorageSpace,
} from './storage.ts'

/** The abilities of a driver. Those that are left out are false. */
export interface StorageDriverCapabilities extends StorageCapabilities {
  /**
   * The driver checks `ifRevision`, `ifAbsent`, `onlyIfEmpty`, `overwrite`, and for each change what is at the path and above
   * it, in the step that makes the change. Without it, it gets no conditions: the backend checks everything by `stat` and
   * `list` before it calls the driver. A driver needs it if others change its files, or if `stat` is slow.
   */
  readonly atomicConditions?: boolean
  /**
   * The driver keeps what it replaces at the path `keepReplacedAt`. If this is left out, the backend copies each file with `copy` right before the driver
   * replaces it, unless the driver has `supports.atomicFolders` or `prepareSnapshot`, or lacks `copy`. False: nothing is kept.
   */
  readonly keepsReplaced?: boolean
}

/** Options of each call of a driver. */
export interface StorageDriverCallOptions {
  /**
   * Aborts when nobody waits for the call any more: its caller left, the backend closes, or the driver made no progress for 30 s. When
   * `beforeCommit` has resolved, a caller who leaves counts no more. A driver that waits for a network should end the wait. What
   * was asked of the storage may still happen then.
   */
  readonly signal: AbortSignal
}

/** Options of a listing. */
export interface StorageDriverListOptions
  extends Omit<StorageListOptions, 'signal'>,
    StorageDriverCallOptions {}

/** Options of a removal. `ifRevision` is set with `supports.atomicConditions` only. */
export interface StorageDriverRemoveOptions
  extends Omit<StorageRemoveOptions, 'known'>,
    StorageDriverCallOptions {
  /**
   * Without `supports.atomicConditions`, nothing was listed in the folder. A driver that keeps entries that `list` leaves out, or
   * whose storage others change, removes nothing but the folder itself, and throws CONFLICT if it is not empty.
   */
  readonly onlyIfEmpty?: boolean
  /** The type of the entry that was found at the path. Undefined with `supports.atomicConditions`. */
  readonly type?: StorageEntry['type']
  /** Call it after each entry of a folder that takes several steps: the limit of time begins again. */
  readonly progress: () => void
}

/** Options of a move. `overwrite` is set with `supports.atomicConditions` only, `keepReplacedAt` with `supports.keepsReplaced` only. */
export interface StorageDriverMoveOptions
  extends Omit<StorageMoveOptions, 'known'>,
    StorageDriverCallOptions {}

/** Options of a read. `start` and `end` are integers that are not negative, and `start` is not after `end`. */
export interface StorageDriverReadOptions extends StorageDriverCallOptions {
  /** The first byte. It may be beyond the end of the file; the content does not matter then. */
  readonly start: number
  /** The last byte, inclusive; undefined for the end of the file. It may be beyond the end of the file. */
  readonly end: number | undefined
}

/** A file that a driver has opened. */
export interface StorageDriverReading {
  readonly entry: StorageEntry
  /**
   * The bytes of the file from `start` on, up to `end` or further, in one piece if the driver has them. A loop may end early,
   * but it always begins, so the `finally` of a generator always runs.
   *
   * The bytes stay the driver's: nobody changes them, and readers that keep chunks get copies. The driver may use the memory of a chunk
   * again when the chunk after the next one is requested; in a snapshot, when the next one is requested or the content has ended.
   */
  readonly content: AsyncIterable<Uint8Array> | Uint8Array
  /** The position of the first byte of `content`, if it is before the requested `start`; 0 for the whole file. */
  readonly start?: number
}

/** The facts that a driver knows when all bytes have arrived. */
export interface StorageDriverStaged {
  /** The revision that the file will have. */
  readonly revision: string
  /**
   * With `atomicConditions`, and for a write with `conditionalWrites`: the entry that was found at the path; null if there is
   * none.
   */
  readonly replaced?: StorageEntry | null
}

/**
 * Options of a write. The conditions are set with `supports.atomicConditions` and `supports.conditionalWrites` only, `keepReplacedAt` with
 * `supports.keepsReplaced` only.
 */
export interface StorageDriverWriteOptions
  extends StorageConditions,
    StorageReplacement,
    StorageDriverCallOptions {
  /** The number of bytes, if known. The content has exactly this number, or fails. */
  readonly size?: number
  /**
   * The time of modification that the file gets, of the year 0 at the earliest and never in the future. A driver that cannot keep
   * it uses the present. Set with `supports.modified` only.
   */
  readonly modified?: Date
  /** The entry that the caller has just asked for: the driver need not ask again. Set with `supports.conditionalWrites` only. */
  readonly known?: Pick<StorageKnowledge, 'destination'>
  /**
   * Call it once, after the last byte and right before the step that makes the file visible, and wait for it. If it rejects,
   * drop the bytes and reject.
   */
  readonly beforeCommit: (staged: StorageDriverStaged) => Promise<void>
}

/** Options of a copy. They are those of the write of the destination. The conditions are set with `supports.atomicConditions` only. */
export interface StorageDriverCopyOptions extends Omit<StorageDriverWriteOptions, 'known'> {
  /** The number of bytes that the source had. */
  readonly size: number
  /**
   * The revision to copy. If the source has another one, throw PRECONDITION_FAILED. Set with `supports.atomicConditions` only.
   */
  readonly ifSourceRevision?: string
  /**
   * The entry of the source, which is about to be replaced: the copy keeps it. It gets the revision of this entry and, if the driver can, its date of
   * creation. A driver that cannot set revisions says `keepsReplaced: false`, and gets no such copies.
   */
  readonly kept?: StorageEntry
}

/** A read-only view of all files of a driver at one moment. */
export interface StorageDriverSnapshot extends Pick<StorageDriver, 'stat' | 'list' | 'open'> {
  /** The entries that the snapshot leaves out. Default: none. */
  readonly omitted?: readonly BackupOmission[]
  /** See `changed` of {@link StorageSnapshot}. Default: none. */
  readonly changed?: readonly string[]
  /** See `link` of {@link StorageSnapshot}. It is left out if the driver keeps no plain files. */
  link?(path: string, to: string): Promise<boolean>
  release(): Promise<void>
}

/**
 * The part of a storage backend that its author writes. {@link createStorageBackend} makes a {@link StorageBackend} of it, which
 * checks, counts and closes. It calls a driver as follows:
 *
 * - Paths are clean: see {@link StorageBackend}. `write`, `remove`, `move` and `copy` never get the root, and `move` and `copy` never
 *   get a path within the other one.
 * - Without `supports.atomicConditions`, a change is possible when `beforeCommit` resolves or the method is called: what is to
 *   be removed, moved or copied exists, no file is above a new path, and nothing of another type is at the path of a file or folder.
 *   With `supports.conditionalWrites`, the driver itself checks all of this for writes, and `ifRevision` and `ifAbsent`.
 * - Without `supports.atomicFolders`, `move` gets files only.
 * - Each step of a call must make progress within 30 s: a call, an entry, a chunk, a removed entry of a folder. Half a minute more is given for each 30 MiB that are
 *   copied, or stored after the last chunk. The time in which a driver waits for content or for `beforeCommit` does not count. A
 *   call that takes longer is given up with SERVICE_UNAVAILABLE, and its signal aborts. With `supports.atomicFolders`, removals
 *   and moves may take any time. {@link createStorageBackend} takes another limit.
 * - A driver holds at most 64 MiB of a file in memory, however large the file is.
 * - Nothing is called after `close`, and nothing else runs then but calls that were given up.
 *
 * A driver throws a NodekeepError with NOT_FOUND or INSUFFICIENT_STORAGE where they apply, and with CONFLICT for a reading
 * whose file was changed. A failure of the system (ENOSPC, EDQUOT) or of SQLite that tells of a lack of space becomes
 * INSUFFICIENT_STORAGE, and any other failure SERVICE_UNAVAILABLE, with the failure as the cause.
 */
export interface StorageDriver {
  readonly supports: StorageDriverCapabilities
  /** See {@link StorageBackend}. */
  readonly plainFolder?: string
  /**
   * Throws if the storage cannot work now. By default, `stat` of the root tells. A driver whose root always exists needs this method,
   * with a question to its storage.
   */
  probe?(signal: AbortSignal): Promise<void>
  /**
   * Returns the entry at a path, also of the root. NOT_FOUND if there is none. In all entries of a driver, the backend replaces an
   * invalid date, and one outside of the years 0 to 9999, by the start of 1970.
   */
  stat(path: string, options: StorageDriverCallOptions): Promise<StorageEntry>
  /**
   * Yields the entries of a folder, sorted by `name` in JavaScript's order of strings. No entry if there is no such folder. It
   * may ignore `after`, but pages of a large folder then cost more. It may leave out what takes a request for each entry: see
   * {@link StorageListEntry}.
   */
  list(path: string, options: StorageDriverListOptions): AsyncIterable<StorageListEntry>
  /** Opens a file. NOT_FOUND if there is none. Of a folder, it may open anything: the entry tells its type. */
  open(path: string, options: StorageDriverReadOptions): Promise<StorageDriverReading>
  /**
   * Reads the content, which has no empty chunks, to its end, calls `beforeCommit`, then makes the file visible in one step, with missing parents. If
   * anything fails, it leaves nothing and throws. The chunks belong to the driver, which may free or change them.
   */
  write(
    path: string,
    content: AsyncIterable<Uint8Array>,
    options: StorageDriverWriteOptions,
  ): Promise<StorageEntry>
  /** Makes a folder and its missing parents. Two calls may make the same folder at the same time. */
  makeDirectory(path: string, options: StorageDriverCallOptions): Promise<void>
  /** Removes a file, or a folder with its content. */
  remove(path: string, options: StorageDriverRemoveOptions): Promise<void>
  /**
   * Moves a file in one step, with `supports.atomicFolders` a folder too: a reader finds it at exactly one of the two paths.
   * Replaces what is at the destination, makes missing parents, and keeps revisions. With `supports.atomicConditions`, it replaces
   * nothing unless `overwrite` is set. Leave it out if the storage cannot move a file in one step: `files` then copies and removes.
   */
  move?(source: string, destination: string, options: StorageDriverMoveOptions): Promise<void>
  /**
   * Copies a file without passing its bytes through the node. Calls `beforeCommit` right before the step that makes the copy
   * visible, with missing parents. If anything fails, it leaves nothing and throws. Leave it out if the storage has no such
   * copy: `files` then reads and writes the bytes.
   */
  copy?(source: string, destination: string, options: StorageDriverCopyOptions): Promise<StorageEntry>
  /**
   * Fixes the state of all files, in a short step, while the backend halts changes. A change lasts from the call of its method, for
   * a write or a copy from the call of `beforeCommit`, to its end. Leave it out if the storage has no snapshots, or if making one takes long.
   */
  snapshot?(): Promise<StorageDriverSnapshot>
  /**
   * Instead of `snapshot`, for a storage whose snapshot takes long: does all long work, while changes go on. `halt` then brings
   * changes to a halt until the disposal of its result, whose `fix` fixes the state. Each is called at most once, `halt` perhaps
   * much later. {@link ChangeGate} does the halt. When the signal aborts, the backend disposes the halt. `release` is called
   * once, unless `fix` has resolved.
   *
   * A driver whose `remove`, `move` or `makeDirectory` waits for a lock that a write holds when it calls `beforeCommit` needs this
   * method, too, with its gate inside the lock: with `snapshot`, they would wait for each other.
   */
  prepareSnapshot?(signal: AbortSignal): Promise<PreparedSnapshot<StorageDriverSnapshot>>
  /** As `watch` of {@link StorageBackend}. The signal aborts when the backend closes, too. No hint arrives after that. */
  watch?(listener: (path: string) => void, signal: AbortSignal): Promise<void>
  /** As `storageId` of {@link StorageBackend}. */
  storageId?(signal: AbortSignal): Promise<string>
  /** As `space` of {@link StorageBackend}. */
  space?(signal: AbortSignal): Promise<StorageSpace | null>
  /** Releases what the driver holds. All calls, readings and snapshots have ended. */
  close(): Promise<void>
}
