import { defineRegistry } from '../service.ts'

/** What a backend knows of one file or folder. */
export interface StorageEntry {
  /** The last segment of the path, `/` for the root. */
  readonly name: string
  readonly type: 'file' | 'directory'
  /** Bytes; 0 for a directory. */
  readonly size: number
  readonly modified: Date
  readonly created: Date
  /** Changes whenever the content of a file does; compared for equality only. Visible ASCII without `"`. */
  readonly revision: string
}

/** Conditions under which a write happens; PRECONDITION_FAILED when they don't hold at the moment of the change. */
export interface StorageConditions {
  /** The file must exist with this revision. */
  readonly ifRevision?: string
  /** Nothing may exist at the path. */
  readonly ifAbsent?: boolean
}

/** Which bytes to read; all of them when nothing is said. */
export interface StorageReadOptions {
  /** First byte, counted from 0. */
  readonly start?: number
  /** Last byte, inclusive. RANGE_NOT_SATISFIABLE when one of the two is not within the file. */
  readonly end?: number
  /**
   * Lets the backend reuse the memory of a chunk once the one after next is asked for. It saves most of the cost of
   * large files for those who ask for the next chunk while they hand on the one before, and wait for both before they
   * ask again; everybody else gets chunks to keep.
   */
  readonly reuseBuffers?: boolean
  readonly signal?: AbortSignal
}

/**
 * What a write is about to make visible: all bytes are there, but not under their path yet. They may still be on the way
 * to where they survive the loss of power; the last step waits for that.
 */
export interface StorageStaged {
  /** The revision that the file will have. */
  readonly revision: string
  /** Bytes. */
  readonly size: number
  /** The file that will be replaced, null when there is none. A backend that would have to look leaves it out. */
  readonly replaced?: StorageEntry | null
}

/** What goes with a write. */
export interface StorageWriteOptions extends StorageConditions {
  /**
   * Bytes that will come, where known. A backend may refuse early what cannot fit. VALIDATION_ERROR when the content
   * turns out to have fewer or more: nothing is stored then.
   */
  readonly size?: number
  /**
   * Called once, when all bytes are there and only the last, atomic step is left. When it rejects, the write is given
   * up and rejects with the same. A journal notes here what is about to happen.
   */
  readonly beforeCommit?: (staged: StorageStaged) => Promise<void>
  /**
   * Lets the backend free the memory of each chunk as soon as it is done with it (`ArrayBuffer.prototype.transfer`).
   * Left to the garbage collection, the chunks of a large upload cost more than storing them. For those who never
   * look at a chunk again, nor at anything else in a buffer that a chunk fills. A backend may do without.
   */
  readonly freeChunks?: boolean
  readonly signal?: AbortSignal
}

/** What goes with a removal. */
export interface StorageRemoveOptions {
  /** The file must exist with this revision. It is for files: PRECONDITION_FAILED for a folder, whatever it says. */
  readonly ifRevision?: string
  /**
   * Removes a folder, and only when nothing at all is in it, also nothing that `list` leaves out. CONFLICT otherwise,
   * and for a file. Whoever copied what `list` showed can take the folders away then, and loses nothing else.
   */
  readonly onlyIfEmpty?: boolean
}

/** A file that is open for reading: the entry and the bytes belong to the same revision. */
export interface StorageReading {
  readonly entry: StorageEntry
  /**
   * The bytes that were asked for, to be gone through once. Begin in any case: the end of the loop, which may come
   * early, is what closes the file.
   */
  readonly content: AsyncIterable<Uint8Array>
}

/** What a backend can do beyond the minimum. */
export interface StorageCapabilities {
  /** `move` is atomic: nobody ever sees both places or none. Revisions stay what they are. */
  readonly atomicMove: boolean
  /** A resolved write survives the loss of power. */
  readonly durable: boolean
  /** `snapshot` is there. */
  readonly snapshot: boolean
}

/** A consistent, read-only view of a backend as it was at one moment. */
export interface StorageSnapshot {
  list(path: string): AsyncIterable<StorageEntry>
  read(path: string, options?: StorageReadOptions): Promise<StorageReading>
  release(): Promise<void>
}

/**
 * Keeps files. Paths that arrive here are clean: absolute, `/`-separated, in NFC, without empty, `.` or `..`
 * segments, each segment at most 255 bytes of UTF-8. The whole has at most 4,096 bytes and, before that, the folder that
 * a feature gives to a user; a backend that cannot keep such paths refuses them with VALIDATION_ERROR. `/` is the root and
 * always exists. Missing parents of a written file are made.
 *
 * A write appears whole or not at all, to everybody at the same moment; of several at once, the last one wins whole.
 *
 * Every method throws NodekeepError NOT_FOUND for what is missing, CONFLICT where a file stands in the place of
 * a folder or the other way round, INSUFFICIENT_STORAGE when full, SERVICE_UNAVAILABLE when out of reach. A call whose
 * signal is aborted ends soon, with the reason of the signal. `@nodekeep/plugin-sdk/conformance/storage` tests all of it.
 */
export interface StorageBackend {
  readonly supports: StorageCapabilities
  /** Throws when the backend cannot work now. Asked for by health checks. */
  probe(signal: AbortSignal): Promise<void>
  stat(path: string): Promise<StorageEntry>
  /** The entries of a folder, sorted by name in the order of UTF-16 code units. */
  list(path: string): AsyncIterable<StorageEntry>
  read(path: string, options?: StorageReadOptions): Promise<StorageReading>
  /**
   * Stores the whole content or nothing: a failed or aborted write leaves what was there. An error of the content
   * comes through as it is. Its chunks are the backend's to keep: nobody changes them afterwards. Conditions hold at
   * the last step, whatever happened while the content came.
   */
  write(
    path: string,
    content: AsyncIterable<Uint8Array>,
    options?: StorageWriteOptions,
  ): Promise<StorageEntry>
  /** Makes a folder and its parents. One that exists is fine. */
  makeDirectory(path: string): Promise<void>
  /**
   * Removes a file, or a folder with all that is in it. CONFLICT for the root. What `stat` and `list` leave out, such as
   * a symbolic link on a disk, may be removed too: then it goes, and nothing that it leads to.
   */
  remove(path: string, options?: StorageRemoveOptions): Promise<void>
  /**
   * Moves a file or folder. Missing parents of the destination are made. CONFLICT when something is there, unless
   * `overwrite`: then it is replaced whole, be it file or folder. CONFLICT always for the root, and for what would move
   * onto itself, into itself or over a folder that it is in.
   */
  move(source: string, destination: string, options?: { readonly overwrite?: boolean }): Promise<void>
  snapshot?(signal: AbortSignal): Promise<StorageSnapshot>
  /** Gives up what is running. Every later call throws SERVICE_UNAVAILABLE; closing again is fine. */
  close(): Promise<void>
}

/** Storage backends, by the name that `storage.mounts` uses. */
export const StorageBackends = defineRegistry<StorageBackend>('storage-backends', 1)
