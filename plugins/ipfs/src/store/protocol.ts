import type { ErrorCode } from '@nodekeep/plugin-sdk'
import type { EntryChange } from '../entries/entry-change.ts'

/** A change of the index. CIDs are the bytes of version 1. */
export type StoreChange =
  | EntryChange
  /** Sets the block that a holder, such as a publication, needs; null for none. */
  | { readonly kind: 'root'; readonly holder: string; readonly cid: Uint8Array | null }

/** A request to the writer thread. A session is a number; it begins with its first request. */
export type StoreRequest =
  /** Appends a block, unless it is there, and holds it. */
  | { readonly kind: 'put'; readonly session: number; readonly cid: Uint8Array; readonly bytes: Uint8Array }
  /** Holds a block that is there. Fails with NOT_FOUND if it is not. */
  | { readonly kind: 'hold'; readonly session: number; readonly cid: Uint8Array }
  /** Makes all of these changes, or none. The blocks that they name must be there. When it is answered, they survive a power loss. */
  | { readonly kind: 'change'; readonly changes: readonly StoreChange[] }
  /** Ends the session: it holds nothing any more. */
  | { readonly kind: 'end'; readonly session: number }
  /** Removes all bytes that nothing needs at the time of the request. */
  | { readonly kind: 'compact' }

export interface NumberedRequest {
  readonly id: number
  readonly request: StoreRequest
}

export interface StoreFailure {
  readonly code: ErrorCode
  readonly message: string
}

export interface StoreAnswer {
  readonly id: number
  readonly failure?: StoreFailure
}

/** Messages to the thread: requests in their order; at last `close`. */
export type ToWriter = readonly NumberedRequest[] | 'close'

/** Messages from the thread: first whether the store is open, then answers, and numbers of packs that nothing needs any more. */
export type FromWriter =
  | { readonly opened: true }
  | { readonly opened: false; readonly message: string }
  | { readonly answers: readonly StoreAnswer[] }
  | { readonly retired: number }
  /** Before the store is open: the bytes of packs of which a lost index has been made again. */
  | { readonly rebuilt: number; readonly of: number }
  /** A sentence that the owner should read in the log. */
  | { readonly warning: string }

export type SendFromWriter = (message: FromWriter) => void

/** The worker data of the thread. */
export interface WriterSettings {
  /** The path of the index. */
  readonly file: string
  /** The folder of the packs. */
  readonly folder: string
  /** Bytes from which on a pack gets no more blocks. */
  readonly packBytes: number
  /** Milliseconds between two records of the tree. */
  readonly recordEveryMs: number
}
