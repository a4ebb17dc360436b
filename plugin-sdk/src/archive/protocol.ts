import type { ArchiveEntry } from './archive-entry.ts'
import type { ArchiveFailure } from './archive-failure.ts'

/** The worker data of the thread. */
export interface ThreadSettings {
  readonly file: string
  readonly maxBytes: number
  readonly maxEntries: number
  /** `send` sends the contents, `hash` reads them, and `unpack` also writes them into the folder. */
  readonly task: { readonly kind: 'send' | 'hash' } | { readonly kind: 'unpack'; readonly folder: string }
}

/** Messages from the thread. For `send`: an entry, its chunks, the next entry. For others: an entry that was read. */
export type FromThread =
  | { readonly kind: 'entry'; readonly entry: ArchiveEntry; readonly sha256: string | null }
  | { readonly kind: 'chunk'; readonly bytes: Uint8Array }
  | { readonly kind: 'progress'; readonly share: number }
  | { readonly kind: 'end' }
  | { readonly kind: 'failed'; readonly failure: ArchiveFailure }

/** How many chunks the thread sends ahead of the reader. Each has at most 256 KiB. The reader answers each with "taken". */
export const chunksAhead = 8
