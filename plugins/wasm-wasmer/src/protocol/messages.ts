import type { ErrorCode } from '@nodekeep/plugin-sdk'

/** A file or folder below a folder that a program sees. */
export interface FolderEntry {
  /** Relative to the folder, without `/` at its beginning and end. */
  readonly path: string
  /** Bytes of a file, which are in the body; null for a folder. */
  readonly size: number | null
}

/** A folder that a program sees. Folders are listed before what is in them. */
export interface Folder {
  readonly guestPath: string
  readonly writable: boolean
  readonly entries: readonly FolderEntry[]
}

/** Bounds that the sandbox itself keeps. */
export interface SandboxLimits {
  /** Bytes of all memories together. */
  readonly memoryBytes: number
  /** Bytes of stdout and stderr together. */
  readonly outputBytes: number
  /** Bytes of all files in the folders. */
  readonly folderBytes: number
  /** Files and folders in the folders. */
  readonly folderEntries: number
}

/** The header of what a sandbox is sent, once. In the body: the module, stdin, the files in their order. */
export interface RunRequest {
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly moduleBytes: number
  readonly stdinBytes: number
  readonly folders: readonly Folder[]
  readonly limits: SandboxLimits
}

/** What a program changed in a folder. Folders come before what is in them. */
export interface FolderChanges {
  /** What is gone, and was there, or is of the other kind now. */
  readonly removed: readonly string[]
  /** What is new or different. */
  readonly stored: readonly FolderEntry[]
}

/** Codes of what a program can do wrong. */
export type FailureCode = Extract<ErrorCode, 'VALIDATION_ERROR' | 'UNPROCESSABLE'>

/** The header of what a sandbox sends. */
export type SandboxMessage =
  | { readonly kind: 'ready' }
  /** The program is compiled, and begins. */
  | { readonly kind: 'began' }
  /** In the body: stdout, stderr, the stored files in their order. One of `changes` for each folder. */
  | {
      readonly kind: 'ended'
      readonly exitCode: number
      readonly stdoutBytes: number
      readonly stderrBytes: number
      readonly changes: readonly FolderChanges[]
    }
  | { readonly kind: 'failed'; readonly code: FailureCode; readonly message: string }
  /** V8 has no more memory for the program. */
  | { readonly kind: 'out-of-memory' }
