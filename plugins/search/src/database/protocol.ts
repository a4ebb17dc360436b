import type { UserIndex } from './user-index.ts'

/** The calls of a user's index that other threads can make. */
export type IndexCalls = Pick<
  UserIndex,
  | 'followed'
  | 'learn'
  | 'forget'
  | 'page'
  | 'swept'
  | 'waiting'
  | 'retry'
  | 'failure'
  | 'store'
  | 'text'
  | 'names'
  | 'contents'
  | 'counts'
  | 'countWaiting'
>

/** A request to the thread. `erase` removes the database of a user. */
export interface DatabaseRequest {
  readonly id: number
  readonly userUuid: string
  readonly call: keyof IndexCalls | 'erase'
  readonly args: readonly unknown[]
}

/** Messages to the thread: requests in their order; at last `close`. */
export type ToDatabases = DatabaseRequest | 'close'

/** Messages from the thread: an answer to each request, and sentences for the log. */
export type FromDatabases =
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly failure: { readonly isDiskFull: boolean; readonly reason: string } }
  | { readonly warning: string }

/** The worker data of the thread. */
export interface DatabaseSettings {
  /** The folder of the databases. */
  readonly folder: string
  /** The most bytes of a file whose words can be found. */
  readonly maxFileSize: number
}

/** The file of a user's database. */
export function databaseName(userUuid: string): string {
  return `${userUuid}.sqlite`
}
