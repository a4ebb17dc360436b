/** SQLite's primary result codes: https://www.sqlite.org/rescode.html */
export const resultCodes = { busy: 5, readonly: 8, corrupt: 11, full: 13, cantopen: 14, notadb: 26 } as const

/** SQLITE_IOERR_SHMSIZE: the disk is too full for the shared index of a write-ahead log. */
const noSpaceForIndex = 4874

/** Returns the primary result code of an error of `node:sqlite`, or `undefined` for any other error. */
export function resultCode(error: unknown): number | undefined {
  const { errcode } = (error ?? {}) as { errcode?: unknown }
  // Extended codes carry the primary one in their lowest byte.
  return typeof errcode === 'number' ? errcode & 0xff : undefined
}

/** Tells whether another connection holds the lock that was needed. */
export function isBusy(error: unknown): boolean {
  return resultCode(error) === resultCodes.busy
}

/** Tells whether the content of a file is not that of a database. A failing or full disk is no damage. */
export function isDamage(error: unknown): boolean {
  const code = resultCode(error)
  return code === resultCodes.corrupt || code === resultCodes.notadb
}

/** Tells whether a disk was full, a quota of the system used up, or the limit of a database's size reached. */
export function isDiskFull(error: unknown): boolean {
  const { code, errcode } = (error ?? {}) as { code?: unknown; errcode?: unknown }
  if (code === 'ENOSPC' || code === 'EDQUOT') return true
  return resultCode(error) === resultCodes.full || errcode === noSpaceForIndex
}
