import type { ArchiveEntry } from './archive-entry.ts'
import type { ArchiveFailure } from './archive-failure.ts'

/** The worker data of the thread. */
export interface ThreadSettings {
  readonly file: string
  readonly folder: string
  readonly maxBytes: number
  readonly maxEntries: number
}

/** Messages from the thread. An entry is told after it was written. */
export type FromThread =
  | { readonly kind: 'entry'; readonly entry: ArchiveEntry; readonly sha256: string | null }
  | { readonly kind: 'progress'; readonly share: number }
  | { readonly kind: 'end' }
  | { readonly kind: 'failed'; readonly failure: ArchiveFailure }
