import type { ErrorCode } from '@nodekeep/plugin-sdk'
import type { ChangeIntent } from './journal.ts'

/** What the writing thread is asked. */
export type WriteRequest =
  | { readonly kind: 'begin'; readonly intent: ChangeIntent }
  | { readonly kind: 'resolve'; readonly seq: number; readonly outcome: 'commit' | 'discard' }
  | { readonly kind: 'erase'; readonly userUuid: string }
  | { readonly kind: 'probe' }

/** A request with the number that its answer will carry. */
export interface NumberedRequest {
  readonly id: number
  readonly request: WriteRequest
}

/** The end of a request: the sequence number of `begin`, 0 for others, or why it failed. */
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

/** What goes to the thread: requests in their order, or the word that there will be no more. */
export type ToWriter = readonly NumberedRequest[] | 'close'

/** What comes from it: once that the file is open or why not, then answers. */
export type FromWriter =
  | { readonly opened: true }
  | { readonly opened: false; readonly message: string }
  | readonly WriteAnswer[]

/** What the thread begins with. */
export interface WriterSettings {
  readonly file: string
  readonly keepDays: number
  readonly keepNewest: number
}
