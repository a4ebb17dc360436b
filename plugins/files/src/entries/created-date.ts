import type { StorageListEntry } from '@nodekeep/plugin-sdk'
import type { KnownEntry } from './known-entry.ts'

/** When a file was created that was overwritten or restored since, so that its backend does not know. Times in milliseconds since 1970. */
export interface CreatedDate {
  /** The revision of the file that has the date; null for a restored file. Its size and time tell then. */
  readonly revision: string | null
  readonly size: number
  readonly modified: number | null
  readonly created: number
}

/** The facts by which a date of creation is known to belong to a file. Listings may lack the revision. */
export type DatedFile = Pick<StorageListEntry, 'revision' | 'size' | 'modified'>

/** Storages keep times in steps of up to two seconds. In milliseconds. */
const coarsestTimeMs = 2000

/** Returns the date if it belongs to this version of the file. */
export function createdIf(
  known: Pick<KnownEntry, keyof CreatedDate> | null | undefined,
  file: DatedFile,
): Date | null {
  if (known === undefined || known === null || known.created === null) return null
  const isSame =
    known.revision === null
      ? known.size === file.size && areClose(known.modified, file.modified.getTime())
      : known.revision === file.revision
  return isSame ? new Date(known.created) : null
}

/** Whether two times may be the same one, kept by different storages. In milliseconds since 1970. */
export function areClose(one: number | null, other: number | null): boolean {
  return one !== null && other !== null && Math.abs(one - other) <= coarsestTimeMs
}
