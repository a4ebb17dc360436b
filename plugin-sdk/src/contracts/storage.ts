import { defineRegistry, lackingMethod } from '../service.ts'
import type { BackupOmission } from './backup.ts'
import { lackingAbility } from './lacking-ability.ts'
import type { PreparedSnapshot } from './prepared-snapshot.ts'

/** A file or folder of a backend. Its times are of the years 0 to 9999, those that RFC 3339 can write. */
export interface StorageEntry {
  /** The last segment of the path, `/` for the root. */
  readonly name: string
  readonly type: 'file' | 'directory'
  /** The number of bytes; 0 for a directory. */
  readonly size: number
  /**
   * For a file: when its content was written, or the time that the write set, in steps of at most 2 seconds. A move keeps it.
   * For a directory: any date.
   */
  readonly modified: Date
  /**
   * When the file or folder was made. A move keeps it. Whether an overwrite keeps it is up to the backend: `files` records
   * the older date itself.
   */
  readonly created: Date
  /**
   * Changes with every write of a file, and is never used for another content, also after a restart. Compare it for
   * equality only. Visible ASCII without `"`, at least one character. A directory has one too, which means nothing.
   */
  readonly revision: string
}

/**
 * An entry of a listing. Some storages cannot tell the revision and the date of creation of each entry without one request for each, so a
 * listing may leave them out. `stat`, `read` and `write` tell both.
 */
export interface StorageListEntry extends Omit<StorageEntry, 'created' | 'revision'> {
  readonly created?: Date
  /** A storage tells the revisions of all files, or of none. */
  readonly revision?: string
  /**
   * A text of at least one character that changes with the content of a file. Files without `revision` have one, also after a restart the same:
   * their listings are compared by `etag`, `size` and `modified`, which may be when the storage got the file, not the time that the write set.
   */
  readonly etag?: string
}

/** Conditions of a write. PRECONDITION_FAILED if one of them is not met at the moment of the change. */
export interface StorageConditions {
  /** The file must exist with this revision. */
  readonly ifRevision?: string
  /** Nothing may exist at the path. */
  readonly ifAbsent?: boolean
}

/**
 * The entries that the caller of a change has just asked the storage for. Nothing else may change these paths until the change has ended. A backend
 * without `supports.atomicConditions` does not ask again, so each request to a server is made once. Others check as always.
 */
export interface StorageKnowledge {
  /** The entry that is copied, moved or removed. */
  readonly source?: StorageEntry
  /** The entry at the path of a new file or folder. Null: there is none, and no file is above the path. */
  readonly destination?: StorageEntry | null
}

/** Options of a change that may replace a file or folder. */
export interface StorageReplacement {
  /**
   * The path at which the backend keeps the file or folder that the change replaces, with its content, and the revision and the time of modification
   * of each file. Nothing is at this path or below it before, no other change uses it meanwhile, and missing parents are made. Nothing is kept if nothing
   * is replaced. It has an effect only with `supports.keepsReplaced`.
   *
   * The last step of the change keeps the entry too, as far as the storage can do both in one step. After a crash, the entry is at one of the two paths,
   * or a file at both. If the change fails, a file may be at both as well: the caller removes the one that is kept.
   */
  readonly keepReplacedAt?: string
}

/** Options of a look at an entry. */
export interface StorageStatOptions {
  readonly signal?: AbortSignal
}

/** The part of a folder to list. By default all of it. */
export interface StorageListOptions {
  readonly signal?: AbortSignal
  /** Only the entries whose names come after this one. A page of a large folder begins after the last name before it. */
  readonly after?: string
}

/** The range of bytes to read. By default all of them. */
export interface StorageReadOptions {
  /** The first byte, counted from 0. */
  readonly start?: number
  /** The last byte, inclusive. RANGE_NOT_SATISFIABLE if `start` or `end` is not within the file. */
  readonly end?: number
  /**
   * Lets the backend reuse the memory of a chunk when the chunk after the next one is requested. It saves two thirds of the CPU
   * time of a large file. It is for readers that request the next chunk while they pass on the current one, that wait until
   * both are done before the next request, and that change no chunk. Without it, the chunks belong to the reader.
   */
  readonly reuseBuffers?: boolean
  readonly signal?: AbortSignal
}

/**
 * A file that a write is about to make visible. The backend has all bytes, but not at their path yet. They may not survive
 * a power loss yet; the last step waits until they do.
 */
export interface StorageStaged {
  /** The revision that the file will have. */
  readonly revision: string
  /** The number of bytes. */
  readonly size: number
  /** The file that will be replaced; null if there is none. */
  readonly replaced: StorageEntry | null
}

/** Options of a write. */
export interface StorageWriteOptions extends StorageConditions, StorageReplacement {
  /**
   * The number of bytes, if known. A backend may refuse early a content that cannot fit. If the content has fewer or more
   * bytes, the write fails with VALIDATION_ERROR and stores nothing.
   */
  readonly size?: number
  /**
   * The time of modification that the file gets, in milliseconds, such as its time on the device that sends it. Has an
   * effect only with `supports.modified`. A time in the future, and one that the storage cannot keep, is replaced by the present.
   */
  readonly modified?: Date
  /**
   * Called once, when the backend has all bytes and only the last, atomic step is left. If it rejects, the write ends
   * without effect and rejects with the same error. A journal records the coming change here.
   */
  readonly beforeCommit?: (staged: StorageStaged) => Promise<void>
  /**
   * Lets the backend free the memory of each chunk as soon as the chunk is stored (`ArrayBuffer.prototype.transfer`). It saves half
   * of the CPU time of a large file. It is for callers that never use a
   * chunk again, nor anything else in a buffer that a chunk fills. A backend may ignore it.
   */
  readonly freeChunks?: boolean
  readonly known?: Pick<StorageKnowledge, 'destination'>
  /** It has an effect until `beforeCommit` has resolved. */
  readonly signal?: AbortSignal
}

/** Options of a copy. The conditions, `modified`, `beforeCommit` and `signal` are those of the write of the destination. */
export interface StorageCopyOptions
  extends StorageConditions,
    StorageReplacement,
    Pick<StorageWriteOptions, 'modified' | 'beforeCommit' | 'signal'> {
  /** The source must have this revision. */
  readonly ifSourceRevision?: string
  readonly known?: StorageKnowledge
}

/** Options of a removal. */
export interface StorageRemoveOptions {
  /** The file must exist with this revision. For a folder, any value fails with PRECONDITION_FAILED. */
  readonly ifRevision?: string
  /**
   * Removes a folder only if it is empty. CONFLICT otherwise, and for a file. With `supports.atomicConditions`, entries that
   * `list` leaves out count too: a caller that has copied all listed entries removes the folders and loses no other entry.
   */
  readonly onlyIfEmpty?: boolean
  readonly known?: Pick<StorageKnowledge, 'source'>
}

/** Options of a new folder. */
export interface StorageMakeDirectoryOptions {
  readonly known?: Pick<StorageKnowledge, 'destination'>
}

/** Options of a move. */
export interface StorageMoveOptions extends StorageReplacement {
  /** Replaces a file or folder at the destination, whole. Without it, the move is a CONFLICT. */
  readonly overwrite?: boolean
  readonly known?: StorageKnowledge
}

/** A file that is open for reading. The entry and the bytes belong to the same revision. */
export interface StorageReading {
  readonly entry: StorageEntry
  /**
   * The requested bytes, for one loop: all of them, or an error. Begin the loop in any case: its end, which may come early,
   * closes the file.
   */
  readonly content: AsyncIterable<Uint8Array>
}

/** The abilities of a backend beyond the minimum. Those that are left out are false. */
export interface StorageCapabilities {
  /**
   * The move, the replacement and the removal of a folder are one step, like a rename on a disk: readers never see a part of
   * it, and a crash leaves all of it or nothing. It needs `move`. Without it, as in most object stores, `files` moves and removes the
   * files of a folder one by one, and records each of them.
   */
  readonly atomicFolders?: boolean
  /** A resolved write survives a power loss. */
  readonly durable?: boolean
  /** A write keeps the time that `modified` sets, at least from 1902 to the present. */
  readonly modified?: boolean
  /**
   * The conditions of a write, a removal and a move hold in the step that makes the change, whatever changes the files at
   * the same time, also another program. Without it, a condition holds only if nothing else changes the same path, a folder
   * above it or something below it between `beforeCommit` and the end of the call. `files` sees to that for its users.
   */
  readonly atomicConditions?: boolean
  /**
   * `ifRevision` and `ifAbsent` of a write hold in the step that makes the file visible, whatever other programs and nodes write there at the same
   * time. For contents of more than 1 MiB, they may be checked right before that step. Nothing else of `atomicConditions` is promised.
   */
  readonly conditionalWrites?: boolean
  /** Writes, copies and moves keep what they replace, as `keepReplacedAt` says. Without it, what is replaced is gone. */
  readonly keepsReplaced?: boolean
}

/** The room of a storage, in bytes. */
export interface StorageSpace {
  /** Bytes that writes may still use, at most `total`. */
  readonly free: number
  readonly total: number
}

/** A consistent, read-only view of a backend at one moment. */
export interface StorageSnapshot {
  /** The entries that only the storage contains, such as symbolic links, by path. The list is complete from the start. */
  readonly omitted: readonly BackupOmission[]
  /**
   * The paths of files that another program changed in place while they were read from this snapshot, such as files with
   * hard links elsewhere. Complete when the readings have ended.
   */
  readonly changed: readonly string[]
  /** As the listing of the backend, with the revisions and dates of creation of all entries. What the driver leaves out, `stat` tells. */
  list(path: string): AsyncIterable<StorageEntry>
  /**
   * Opens a file. The content has as many bytes as the entry of the reading tells, also if another program changes the file
   * meanwhile: bytes that are gone become zeros, and the path gets into `changed`. With `reuseBuffers`, a reader is done with a
   * chunk when it requests the next one, and with all chunks when the content has ended.
   */
  read(path: string, options?: StorageReadOptions): Promise<StorageReading>
  /**
   * Makes a hard link to a file of the snapshot at a path of the disk, as `BackupEntry.link` says. Undefined for backends that
   * keep no plain files.
   */
  link?(path: string, to: string): Promise<boolean>
  /** Frees what the snapshot holds. Release every snapshot. A second call does nothing. */
  release(): Promise<void>
}

/**
 * Stores files, for features. The author of a storage writes a {@link StorageDriver} and makes a backend of it with
 * {@link createStorageBackend}.
 *
 * All paths are clean: absolute, `/`-separated, in NFC, without empty, `.` or `..` segments, each segment at most 255 bytes
 * of UTF-8. A path has at most 4,096 bytes, after the folder that a feature gives to a user. A backend that cannot store
 * such paths refuses them with VALIDATION_ERROR. `/` is the root and always exists. A write makes missing parents.
 *
 * A write appears whole or not at all, to all readers at the same moment. Of several writes at the same time, the last one
 * wins whole. A write that fails leaves neither bytes nor folders, except after a crash.
 *
 * Every method throws a NodekeepError. If several rows apply, the first one wins:
 *
 * | Situation | Code |
 * |---|---|
 * | The backend is closed. | SERVICE_UNAVAILABLE |
 * | The signal is aborted. | the signal's reason |
 * | The root is to be written, removed, moved, copied or replaced. Source and destination are equal, or one contains the other. | CONFLICT |
 * | `stat`, `list`, `read`, `remove` or the source of a `move` or `copy`: nothing is at the path, or a file is above it. | NOT_FOUND |
 * | `write`, `makeDirectory` or the destination of a `move` or `copy`: a file is above the path. | CONFLICT |
 * | `ifAbsent`: a file or folder is at the path. `ifRevision`: a folder, another revision or, for a write, nothing is there. `ifSourceRevision`: another revision is at the source. The source of a `copy` changes meanwhile. | PRECONDITION_FAILED |
 * | `write`, `read`, `copy`: a folder is at the path. `makeDirectory`, `list`: a file is there. | CONFLICT |
 * | `move` without `supports.atomicFolders`: a folder is at the source or the destination. | CONFLICT |
 * | `move` without `overwrite`: something is at the destination. `onlyIfEmpty`: a file or a folder with content is there. | CONFLICT |
 * | The range is not within the file. | RANGE_NOT_SATISFIABLE |
 * | The written content or `beforeCommit` fails. | its error, unchanged |
 * | The content does not have `size` bytes. | VALIDATION_ERROR |
 * | The storage is full. | INSUFFICIENT_STORAGE |
 * | Anything else: the storage does not work now. | SERVICE_UNAVAILABLE |
 *
 * A reading that is open when its file is overwritten, moved or removed yields the old bytes to the end, or fails with
 * CONFLICT. It never yields too few bytes, nor bytes of two versions. When the backend closes, it fails with
 * SERVICE_UNAVAILABLE.
 *
 * `@nodekeep/plugin-sdk/conformance/storage` tests all of this.
 */
export interface StorageBackend {
  readonly supports: StorageCapabilities
  /**
   * The folder, an absolute path, in which the backend keeps its files as plain files: the file at the path `/a/b` is
   * `<plainFolder>/a/b`. A restore may put files there, and take them away, by renames while the node does not run. It keeps
   * what it needs, and the former files, in `<plainFolder>/.nodekeep/restore`: the backend hides that folder and leaves it
   * alone. Undefined for backends that keep files in another way.
   */
  readonly plainFolder?: string
  /** Throws if the backend cannot work now. Health checks call it. */
  probe(signal: AbortSignal): Promise<void>
  stat(path: string, options?: StorageStatOptions): Promise<StorageEntry>
  /** Yields the entries of a folder, sorted by name in the order of UTF-16 code units. What they tell is what `stat` tells. */
  list(path: string, options?: StorageListOptions): AsyncIterable<StorageListEntry>
  read(path: string, options?: StorageReadOptions): Promise<StorageReading>
  /**
   * Stores the whole content or nothing: a failed or aborted write leaves the old file. The backend may keep the chunks: the
   * caller does not change them later. Conditions are checked at the last step, after the content has arrived.
   */
  write(
    path: string,
    content: AsyncIterable<Uint8Array>,
    options?: StorageWriteOptions,
  ): Promise<StorageEntry>
  /** Makes a folder and its parents. Succeeds if the folder exists. */
  makeDirectory(path: string, options?: StorageMakeDirectoryOptions): Promise<void>
  /**
   * Removes a file, or a folder with its whole content. A backend may also remove entries that `stat` and `list` leave out,
   * such as a symbolic link on a disk: the link itself, never its target.
   */
  remove(path: string, options?: StorageRemoveOptions): Promise<void>
  /**
   * Moves a file in one step, with `supports.atomicFolders` a folder too: a reader finds it at exactly one of the two paths, and
   * revisions stay the same. Makes missing parents of the destination. Backends that cannot do this have no such method.
   */
  move?(source: string, destination: string, options?: StorageMoveOptions): Promise<void>
  /**
   * Copies a file within the backend, such as by the copy of an object store: its bytes do not pass through the node. Makes
   * missing parents of the destination, and replaces a file there. For everything else, the copy is a write of the
   * destination, with a revision of its own. Backends that cannot do this have no such method.
   */
  copy?(source: string, destination: string, options?: StorageCopyOptions): Promise<StorageEntry>
  /**
   * Prepares a snapshot: everything that takes long, such as copying a tree of names, while changes go on. Backends that cannot
   * make snapshots have no such method.
   *
   * During the halt, no `beforeCommit` is called, reads work, and changes wait. Its holder must not wait for a change of this
   * backend, nor for the halt of a second snapshot of it. The close ends the halt.
   *
   * Several backends fix their states at one moment by {@link haltTogether}.
   *
   * @param signal ends everything until the snapshot is taken, also the halt: changes go on, and `fix` rejects with its reason
   */
  prepareSnapshot?(signal: AbortSignal): Promise<PreparedSnapshot<StorageSnapshot>>
  /**
   * Gives hints of what other programs change, from when it has resolved until the signal aborts or the backend closes. A
   * backend whose files only the node changes has no such method.
   *
   * A hint says: scan this path and everything below it. The hint `/` says: scan everything, because hints may have been
   * lost. A backend that cannot watch its storage gives this hint at intervals. Hints promise nothing more: the path may be as
   * it was, hints may come twice and late, and the changes of the node itself may be among them.
   *
   * A backend with this method has `storageId`, too.
   *
   * @param listener must not throw
   * @throws NodekeepError SERVICE_UNAVAILABLE if the storage does not work now
   */
  watch?(listener: (path: string) => void, signal: AbortSignal): Promise<void>
  /**
   * Names the stored files, in 1 to 200 characters. The name stays the same as long as they do, also over restarts, and differs if other
   * files are in the same place, such as an empty folder where a disk is not mounted. A reader keeps what it knows of one storage apart from the others.
   *
   * @throws NodekeepError SERVICE_UNAVAILABLE if the storage does not work now
   */
  storageId?(signal: AbortSignal): Promise<string>
  /**
   * Tells how much room there is for files, also of other programs on the same disk. `null` if the storage cannot tell now. A backend whose
   * storage has no limit, or does not tell it, has no such method.
   *
   * @throws NodekeepError SERVICE_UNAVAILABLE if the storage does not work now
   */
  space?(signal: AbortSignal): Promise<StorageSpace | null>
  /** Ends the running calls and readings, then the backend. A second call does the same as the first. */
  close(): Promise<void>
}

/** Storage backends, by the name that `storage.mounts` uses. */
export const StorageBackends = defineRegistry<StorageBackend>('storage-backends', 3, (backend) => {
  if ('open' in backend && !('read' in backend)) return 'is a driver: pass it to "createStorageBackend"'
  const calls = ['stat', 'list', 'read', 'write', 'makeDirectory', 'remove', 'probe', 'close'] as const
  const named = backend.watch === undefined ? calls : ([...calls, 'storageId'] as const)
  return lackingAbility(backend) ?? lackingMethod(backend, ...named)
})
