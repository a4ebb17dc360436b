import type { ErrorCode } from '@nodekeep/plugin-sdk'

/**
 * A file or folder below a folder that a program sees. Entries have numbers, from 0 on, and name their folder by its
 * number: with paths, the entries of a deep tree would take much more room than its names.
 */
export interface FolderEntry {
  /** The number of the folder that it is in, which is lower than its own; null directly below the folder itself. */
  readonly parent: number | null
  readonly name: string
  /** Bytes of a file, which are in the body; null for a folder. */
  readonly size: number | null
  /** The time of modification, in milliseconds since 1970. */
  readonly modified: number
}

/** A folder that a program sees. */
export interface Folder {
  readonly guestPath: string
  readonly writable: boolean
  readonly entries: readonly FolderEntry[]
}

/** Limits that the sandbox itself enforces. */
export interface SandboxLimits {
  /** Bytes of each memory. */
  readonly memoryBytes: number
  /** Bytes of all files in the folders. */
  readonly folderBytes: number
  /** Files and folders in the folders. */
  readonly folderEntries: number
}

/** The header of the one request to a sandbox. The body holds the module, stdin, and the files in their order. */
export interface RunRequest {
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly moduleBytes: number
  readonly stdinBytes: number
  readonly folders: readonly Folder[]
  readonly limits: SandboxLimits
}

/** The changes of a program in a folder. */
export interface FolderChanges {
  /** Numbers of entries that are gone, or that changed from a file to a folder or the other way round. */
  readonly removed: readonly number[]
  /** Entries that are new or changed. Their numbers follow those of the request's entries. */
  readonly stored: readonly FolderEntry[]
}

/** Codes of failures that a program causes. */
export type FailureCode = Extract<ErrorCode, 'VALIDATION_ERROR' | 'UNPROCESSABLE'>

/** Most bytes of a message with output. */
export const outputPieceBytes = 2 ** 20

/** The streams that a program writes to. */
export type OutputStream = 'stdout' | 'stderr'

/** The header of a message from a sandbox. */
export type SandboxMessage =
  | { readonly kind: 'ready' }
  /** The program is compiled and begins. */
  | { readonly kind: 'began' }
  /** The body holds what the program wrote next. */
  | { readonly kind: OutputStream }
  /** The body holds the stored files in their order. `changes` has one item for each folder. */
  | { readonly kind: 'ended'; readonly exitCode: number; readonly changes: readonly FolderChanges[] }
  | { readonly kind: 'failed'; readonly code: FailureCode; readonly message: string }
  /** V8 refused the program more memory. */
  | { readonly kind: 'out-of-memory' }
