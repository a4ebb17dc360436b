import type { ArchiveFailure } from '@nodekeep/plugin-sdk/archive'
import type { VerifiedBackup } from './read-backup.ts'

/** Messages from the thread that reads a backup. */
export type FromReader =
  | { readonly kind: 'progress'; readonly share: number }
  | { readonly kind: 'done'; readonly backup: VerifiedBackup }
  | { readonly kind: 'failed'; readonly failure: ArchiveFailure }
