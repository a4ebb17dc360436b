import type { BackupHeader } from './backup-header.ts'

/** The worker data of the thread that writes an archive. */
export interface WriteSettings {
  /** An empty file that exists. */
  readonly file: string
  readonly header: BackupHeader
  readonly recipients: readonly string[]
  readonly level: number
  /** Memory for batches, which both threads share. */
  readonly memory: readonly Uint8Array<SharedArrayBuffer>[]
}

/** An entry without its content, in a form that crosses threads. */
export interface EntryHead {
  readonly path: string
  readonly type: 'file' | 'directory'
  readonly size: number
  readonly modified: Date
  readonly created?: Date
}

/** Part of an entry. The parts of an entry follow each other, and have `size` bytes together. */
export interface Part {
  /** Set on the first part. */
  readonly begins: EntryHead | null
  /** How many of the bytes are of this part; the parts are in order and without gaps. */
  length: number
  /** Set on the last part. */
  ends: { readonly changed: boolean } | null
}

/** Messages to the thread. A batch names the memory with its bytes, which the thread gives back with `free`. After `cancel`, it ends. */
export type ToWriter =
  | { readonly kind: 'batch'; readonly parts: readonly Part[]; readonly memory: number }
  | { readonly kind: 'end' }
  | { readonly kind: 'cancel' }

/** Messages from the thread. */
export type FromWriter =
  | { readonly kind: 'free'; readonly memory: number }
  | { readonly kind: 'done'; readonly size: number }
