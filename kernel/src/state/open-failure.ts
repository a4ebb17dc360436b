import { dirname } from 'node:path'
import { unwritableFolder } from './data-folder.ts'
import { HistoryMismatch } from './history.ts'

/** SQLite's primary result codes: https://www.sqlite.org/rescode.html */
export const busy = 5
const readonly = 8
const corrupt = 11
export const FULL = 13
const cantopen = 14
const notadb = 26

/** The primary result code of an error of `node:sqlite`, or `undefined` for any other error. */
export function sqliteCode(error: unknown): number | undefined {
  const { errcode } = (error ?? {}) as { errcode?: unknown }
  // Extended codes carry the primary one in their lowest byte.
  return typeof errcode === 'number' ? errcode & 0xff : undefined
}

/** Tells whether another connection holds the lock that was needed. */
export function isBusy(error: unknown): boolean {
  return sqliteCode(error) === busy
}

/** What to tell a person when the database cannot be opened. */
export function openFailure(path: string, cause: unknown): Error {
  if (cause instanceof HistoryMismatch) {
    return new Error(
      `${path} was written by a newer version of Nodekeep (${cause.message}). Start that version, or restore a backup of this one.`,
      { cause },
    )
  }
  switch (sqliteCode(cause)) {
    case notadb:
    case corrupt:
      return new Error(
        `${path} is damaged or no database. Restore it from a backup, or move it away to start anew.`,
        {
          cause,
        },
      )
    case busy:
      return new Error(`${path} is in use by another program. Stop that program and start again.`, { cause })
    case FULL:
      return new Error(`The disk that holds ${path} is full. Free some space and start again.`, { cause })
    case readonly:
    case cantopen:
      return unwritableFolder(dirname(path), cause)
    default:
      return new Error(
        `${path} cannot be opened: ${cause instanceof Error ? cause.message : String(cause)}.`,
        { cause },
      )
  }
}
