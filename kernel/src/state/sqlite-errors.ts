import { dirname } from 'node:path'
import { NodekeepError } from '@nodekeep/plugin-sdk'
import { unwritableFolder } from './data-folder.ts'
import { HistoryMismatch } from './schema.ts'
import { resultCodes as codes, resultCode } from './sqlite-codes.ts'

/** Returns the error that tells a person why the database cannot be opened, and what to do. */
export function openFailure(path: string, cause: unknown): Error {
  if (cause instanceof HistoryMismatch) {
    return new Error(
      `${path} was written by a newer version of Nodekeep (${cause.message}). Start that version, or restore a backup of this one.`,
      { cause },
    )
  }
  switch (resultCode(cause)) {
    case codes.notadb:
    case codes.corrupt:
      return new Error(
        `${path} is damaged or is not a database. Restore it from a backup, or move it away to start with an empty one.`,
        { cause },
      )
    case codes.busy:
      return new Error(`${path} is in use by another program. Stop that program and start again.`, { cause })
    case codes.full:
      return new Error(`The disk that holds ${path} is full. Free some space and start again.`, { cause })
    case codes.readonly:
    case codes.cantopen:
      return unwritableFolder(dirname(path), cause)
    default:
      return new Error(
        `${path} cannot be opened: ${cause instanceof Error ? cause.message : String(cause)}.`,
        { cause },
      )
  }
}

/** Returns the error for the caller of a statement. A full disk and a locked file are temporary, not faults of the code. */
export function statementFailure(cause: unknown): unknown {
  switch (resultCode(cause)) {
    case codes.full:
      return new NodekeepError(
        'INSUFFICIENT_STORAGE',
        "The disk that holds the node's state is full. Free some space and try again.",
        { cause },
      )
    case codes.busy:
      return new NodekeepError(
        'SERVICE_UNAVAILABLE',
        "Another program has locked the node's state. Try again later.",
        { headers: { 'retry-after': '5' }, cause },
      )
    default:
      return cause
  }
}
