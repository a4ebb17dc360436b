import type { ErrorCode } from '@nodekeep/plugin-sdk'
import type { ChangeFacts, RestoredDate, RestoredKept } from '../entries/entry-statements.ts'
import type { IndexedMounts } from '../entries/entry-tables.ts'
import type { ListedFile, PlacedEntry } from '../entries/known-entry.ts'
import type { ChangeIntent } from './change.ts'

/** A request to the writer thread. */
export type WriteRequest =
  | { readonly kind: 'begin'; readonly intent: ChangeIntent }
  | { readonly kind: 'add'; readonly changes: readonly ChangeIntent[] }
  | {
      readonly kind: 'resolve'
      readonly seq: number
      readonly outcome: 'commit' | 'discard'
      readonly facts?: ChangeFacts
    }
  | {
      readonly kind: 'mark-undo'
      readonly userUuid: string
      /** Of the undo. */
      readonly group: string
      /** The number of the newest change that it has taken back. */
      readonly undoes: number
    }
  | { readonly kind: 'erase'; readonly userUuid: string }
  | { readonly kind: 'renew'; readonly epoch: string }
  | { readonly kind: 'restore-created'; readonly dates: readonly RestoredDate[] }
  | { readonly kind: 'restore-kept'; readonly items: readonly RestoredKept[] }
  | {
      readonly kind: 'keep'
      readonly userUuid: string
      readonly reader: string
      readonly after: number | null
    }
  | { readonly kind: 'probe' }
  | IndexRequest

/** A request that changes only the index. */
export type IndexRequest =
  | { readonly kind: 'set-storage'; readonly name: string; readonly storageId: string }
  | { readonly kind: 'tree'; readonly user: string; readonly storage: string }
  | { readonly kind: 'put-entries'; readonly tree: number; readonly entries: readonly PlacedEntry[] }
  | {
      /** Takes entries of the kept files of a user, by their names from the folder of them on. Unknown items come to the trash. */
      readonly kind: 'put-kept'
      readonly tree: number
      readonly entries: readonly PlacedEntry[]
    }
  /** Gives the versions of the file at a path of a user to its copy on the same storage. Nothing happens if one of the two is not known. */
  | { readonly kind: 'pass-versions'; readonly user: string; readonly from: string; readonly to: string }
  /** Takes note that the files of a kept entry are gone. Nothing happens if it is not known. */
  | { readonly kind: 'forget-kept'; readonly number: number }
  | { readonly kind: 'put-listed'; readonly files: readonly ListedFile[] }
  | {
      readonly kind: 'put-sha256'
      readonly entry: number
      readonly revision: string
      readonly size: number
      readonly sha256: string
    }
  | { readonly kind: 'complete'; readonly tree: number; readonly at: number }

/** A request with the number that its answer will carry. */
export interface NumberedRequest {
  readonly id: number
  readonly request: WriteRequest
}

/**
 * The result of a request: the sequence number of `begin`, the last one of `add`, the id of a `tree`, 0 for others, or the reason why it
 * failed.
 */
export interface WriteAnswer {
  readonly id: number
  readonly seq: number
  readonly failure?: WriteFailure
}

export interface WriteFailure {
  readonly code: Extract<ErrorCode, 'INSUFFICIENT_STORAGE' | 'SERVICE_UNAVAILABLE'>
  /** For the log. */
  readonly reason: string
}

/** Messages to the thread: requests in their order, `prune` to delete old changes from now on, and at last `close`. */
export type ToWriter = readonly NumberedRequest[] | 'prune' | 'close'

/** Messages from the thread: first whether the file is open, then answers. */
export type FromWriter =
  | { readonly opened: true }
  | { readonly opened: false; readonly message: string }
  | readonly WriteAnswer[]

/** The worker data of the thread. */
export interface WriterSettings {
  readonly file: string
  readonly keepDays: number
  readonly keepNewest: number
  readonly mounts: IndexedMounts
}
