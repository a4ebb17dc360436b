import type { StorageEntry, StorageListEntry } from '@nodekeep/plugin-sdk'

/** An entry as the index has it. */
export interface KnownEntry {
  /** It stays the same when the entry is moved or overwritten. */
  readonly id: number
  readonly name: string
  readonly type: StorageEntry['type']
  /** Bytes; for a folder, those of all files below it. */
  readonly size: number
  /** The number of entries below a folder; 0 for a file. */
  readonly below: number
  /** `null` for a folder, and for a file whose revision is not known. */
  readonly revision: string | null
  /** Milliseconds since 1970; `null` for a folder, and for a file of which it is not known. */
  readonly modified: number | null
  /** When the file was created, if the storage does not know it. Milliseconds since 1970. */
  readonly created: number | null
  /** The SHA-256 of the content, hexadecimal, if it is known. */
  readonly sha256: string | null
  /** The {@link listedState} of the file; `null` where that is not known. */
  readonly listed: string | null
}

/** The facts of an entry that the index takes from a storage. */
export interface FoundEntry {
  readonly type: StorageEntry['type']
  readonly size: number
  readonly revision: string | null
  /** Milliseconds since 1970; null for a folder. */
  readonly modified: number | null
  readonly listed: string | null
}

/** An entry as a storage has it now, `null` for nothing, by its names from the root of the storage on. */
export type PlacedEntry = readonly [names: readonly string[], entry: FoundEntry | null]

/** The state of a file that has a revision, by a listing without revisions. */
export interface ListedFile {
  readonly id: number
  readonly revision: string
  readonly listed: string
}

/** The state of a file by a listing without revisions. `null` for an entry with a revision, and for a folder. */
export function listedState({ type, revision, etag, size, modified }: StorageListEntry): string | null {
  return type === 'file' && revision === undefined ? `${size} ${modified.getTime()} ${etag ?? ''}` : null
}

/** The facts of an entry of a storage, or of a listing. */
export function foundEntry(entry: StorageListEntry): FoundEntry {
  const { type, size, revision, modified } = entry
  if (type === 'directory') return { type, size: 0, revision: null, modified: null, listed: null }
  return { type, size, revision: revision ?? null, modified: modified.getTime(), listed: listedState(entry) }
}
