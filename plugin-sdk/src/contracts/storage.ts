import type { Readable } from 'node:stream'
import { defineRegistry } from '../service.ts'

/** What a backend knows of one file or folder. */
export interface StorageEntry {
  readonly name: string
  readonly type: 'file' | 'directory'
  /** Bytes; 0 for a directory. */
  readonly size: number
  readonly modified: Date
  readonly created: Date
  /** Changes whenever the content does; compared for equality only. */
  readonly revision: string
}

/** Conditions under which a write happens; PRECONDITION_FAILED when they don't hold at the moment of the change. */
export interface StorageConditions {
  /** The file must exist with this revision. */
  readonly ifRevision?: string
  /** Nothing may exist at the path. */
  readonly ifAbsent?: boolean
}

export interface StorageReadOptions {
  /** First byte, counted from 0. */
  readonly start?: number
  /** Last byte, inclusive. Both are within the file. */
  readonly end?: number
  readonly signal?: AbortSignal
}

export interface StorageWriteOptions extends StorageConditions {
  /** Bytes that will come, where known. */
  readonly size?: number
  readonly signal?: AbortSignal
}

/** A file that is open for reading: the entry and the bytes belong to the same revision. */
export interface StorageReading {
  readonly entry: StorageEntry
  readonly content: Readable
}

/** What a backend can do beyond the minimum. */
export interface StorageCapabilities {
  /** `move` is atomic: nobody ever sees both places or none. */
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
 * segments, each segment at most 255 bytes of UTF-8. `/` is the root and always exists. Missing parents of a
 * written file are made.
 *
 * Every method throws NodekeepError NOT_FOUND for what is missing, CONFLICT where a file stands in the place of
 * a folder or the other way round, INSUFFICIENT_STORAGE when full, SERVICE_UNAVAILABLE when out of reach.
 */
export interface StorageBackend {
  readonly supports: StorageCapabilities
  /** Throws when the backend can't work now. Asked for by health checks. */
  probe(signal: AbortSignal): Promise<void>
  stat(path: string): Promise<StorageEntry>
  /** The entries of a folder, sorted by name in the order of UTF-16 code units. */
  list(path: string): AsyncIterable<StorageEntry>
  read(path: string, options?: StorageReadOptions): Promise<StorageReading>
  /** Stores the whole stream or nothing: a failed or aborted write leaves what was there. */
  write(
    path: string,
    content: AsyncIterable<Uint8Array>,
    options?: StorageWriteOptions,
  ): Promise<StorageEntry>
  /** Makes a folder and its parents. One that exists is fine. */
  makeDirectory(path: string): Promise<void>
  /** Removes a file, or a folder with all that is in it. */
  remove(path: string, conditions?: Pick<StorageConditions, 'ifRevision'>): Promise<void>
  /** Moves a file or folder. CONFLICT when the destination exists, unless `overwrite`. */
  move(source: string, destination: string, options?: { readonly overwrite?: boolean }): Promise<void>
  snapshot?(signal: AbortSignal): Promise<StorageSnapshot>
  close(): Promise<void>
}

/** Storage backends, by the name that `storage.mounts` uses. */
export const StorageBackends = defineRegistry<StorageBackend>('storage-backends', 1)
