import { defineRegistry, lackingMethod } from '../service.ts'

/** A file or folder of a backend. */
export interface StorageEntry {
  /** The last segment of the path, `/` for the root. */
  readonly name: string
  readonly type: 'file' | 'directory'
  /** The number of bytes; 0 for a directory. */
  readonly size: number
  readonly modified: Date
  readonly created: Date
  /** Changes with every change of a file's content. Compare it for equality only. Visible ASCII without `"`. */
  readonly revision: string
}

/** Conditions of a write. PRECONDITION_FAILED if one of them is not met at the moment of the change. */
export interface StorageConditions {
  /** The file must exist with this revision. */
  readonly ifRevision?: string
  /** Nothing may exist at the path. */
  readonly ifAbsent?: boolean
}

/** The range of bytes to read. By default all of them. */
export interface StorageReadOptions {
  /** The first byte, counted from 0. */
  readonly start?: number
  /** The last byte, inclusive. RANGE_NOT_SATISFIABLE if `start` or `end` is not within the file. */
  readonly end?: number
  /**
   * Lets the backend reuse the memory of a chunk when the chunk after the next one is requested. This saves most of the
   * cost of a large file. It is for readers that request the next chunk while they pass on the current one, and that
   * wait until both are done before the next request. Without it, the reader may keep every chunk.
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
  /** The file that will be replaced; null if there is none. A backend that would have to ask for it leaves it out. */
  readonly replaced?: StorageEntry | null
}

/** Options of a write. */
export interface StorageWriteOptions extends StorageConditions {
  /**
   * The number of bytes, if known. A backend may refuse early a content that cannot fit. If the content has fewer or more
   * bytes, the write fails with VALIDATION_ERROR and stores nothing.
   */
  readonly size?: number
  /**
   * Called once, when the backend has all bytes and only the last, atomic step is left. If it rejects, the write ends
   * without effect and rejects with the same error. A journal records the coming change here.
   */
  readonly beforeCommit?: (staged: StorageStaged) => Promise<void>
  /**
   * Lets the backend free the memory of each chunk as soon as the chunk is stored (`ArrayBuffer.prototype.transfer`). The
   * garbage collection of the chunks of a large upload costs more than storing them. It is for callers that never use a
   * chunk again, nor anything else in a buffer that a chunk fills. A backend may ignore it.
   */
  readonly freeChunks?: boolean
  readonly signal?: AbortSignal
}

/** Options of a removal. */
export interface StorageRemoveOptions {
  /** The file must exist with this revision. For a folder, any value fails with PRECONDITION_FAILED. */
  readonly ifRevision?: string
  /**
   * Removes a folder only if it contains nothing at all, not even entries that `list` leaves out. CONFLICT otherwise, and
   * for a file. With it, a caller that has copied all listed entries removes the folders and loses no other entry.
   */
  readonly onlyIfEmpty?: boolean
}

/** A file that is open for reading. The entry and the bytes belong to the same revision. */
export interface StorageReading {
  readonly entry: StorageEntry
  /**
   * The requested bytes, for one loop. Begin the loop in any case: its end, which may come early, closes the file.
   */
  readonly content: AsyncIterable<Uint8Array>
}

/** The abilities of a backend beyond the minimum. */
export interface StorageCapabilities {
  /** `move` is atomic: a reader finds the file at exactly one of the two paths. Revisions stay the same. */
  readonly atomicMove: boolean
  /** A resolved write survives a power loss. */
  readonly durable: boolean
  /** The backend has the method `snapshot`. */
  readonly snapshot: boolean
}

/** A consistent, read-only view of a backend at one moment. */
export interface StorageSnapshot {
  list(path: string): AsyncIterable<StorageEntry>
  read(path: string, options?: StorageReadOptions): Promise<StorageReading>
  release(): Promise<void>
}

/**
 * Stores files. All paths are clean: absolute, `/`-separated, in NFC, without empty, `.` or `..` segments, each segment at
 * most 255 bytes of UTF-8. A path has at most 4,096 bytes, after the folder that a feature gives to a user. A backend
 * that cannot store such paths refuses them with VALIDATION_ERROR. `/` is the root and always exists. A write makes missing
 * parents.
 *
 * A write appears whole or not at all, to all readers at the same moment. Of several writes at the same time, the last one
 * wins whole.
 *
 * Every method throws a NodekeepError: NOT_FOUND for a missing file or folder, CONFLICT for a file where a folder is
 * expected or the other way round, INSUFFICIENT_STORAGE if the storage is full, SERVICE_UNAVAILABLE if it cannot be
 * used. A call whose signal aborts ends soon, with the reason of the signal. `@nodekeep/plugin-sdk/conformance/storage`
 * tests all of this.
 */
export interface StorageBackend {
  readonly supports: StorageCapabilities
  /** Throws if the backend cannot work now. Health checks call it. */
  probe(signal: AbortSignal): Promise<void>
  stat(path: string): Promise<StorageEntry>
  /** Yields the entries of a folder, sorted by name in the order of UTF-16 code units. */
  list(path: string): AsyncIterable<StorageEntry>
  read(path: string, options?: StorageReadOptions): Promise<StorageReading>
  /**
   * Stores the whole content or nothing: a failed or aborted write leaves the old file. An error of the content reaches the
   * caller unchanged. The backend may keep the chunks: the caller does not change them later. Conditions are checked at
   * the last step, after the content has arrived.
   */
  write(
    path: string,
    content: AsyncIterable<Uint8Array>,
    options?: StorageWriteOptions,
  ): Promise<StorageEntry>
  /** Makes a folder and its parents. Succeeds if the folder exists. */
  makeDirectory(path: string): Promise<void>
  /**
   * Removes a file, or a folder with its whole content. CONFLICT for the root. A backend may also remove entries that
   * `stat` and `list` leave out, such as a symbolic link on a disk: the link itself, never its target.
   */
  remove(path: string, options?: StorageRemoveOptions): Promise<void>
  /**
   * Moves a file or folder, and makes missing parents of the destination. CONFLICT if the destination exists, unless
   * `overwrite` is set: then a file or folder there is replaced whole. Always CONFLICT for the root, and for a move onto
   * itself, into itself or onto a folder that contains the source.
   */
  move(source: string, destination: string, options?: { readonly overwrite?: boolean }): Promise<void>
  snapshot?(signal: AbortSignal): Promise<StorageSnapshot>
  /** Aborts the running calls. Every later call throws SERVICE_UNAVAILABLE, except another `close`. */
  close(): Promise<void>
}

/** Storage backends, by the name that `storage.mounts` uses. */
export const StorageBackends = defineRegistry<StorageBackend>('storage-backends', 1, (backend) => {
  if (typeof backend.supports !== 'object' || backend.supports === null) return 'has no "supports"'
  const snapshot = backend.supports.snapshot ? (['snapshot'] as const) : []
  const calls = ['stat', 'list', 'read', 'write', 'makeDirectory', 'remove', 'move'] as const
  return lackingMethod(backend, ...calls, 'probe', 'close', ...snapshot)
})
