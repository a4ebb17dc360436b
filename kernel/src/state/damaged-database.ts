import { closeSync, openSync, readSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { messageOf } from '@nodekeep/plugin-sdk'
import { findDatabases, isDamage, resultCode, resultCodes } from '@nodekeep/plugin-sdk/data-folder'

/** Bytes of a database that is checked as a whole: a second of a processor. Of larger ones, the check would delay the start. */
const mostChecked = 512 * 1024 * 1024

/** The first bytes of a database: https://www.sqlite.org/fileformat.html */
const magic = 'SQLite format 3\0'

/** A damaged database that was set aside. */
interface SetAside {
  /** The fault that SQLite has found. */
  readonly reason: string
  /** Where it is now. */
  readonly path: string
}

/**
 * Replaces a damaged database by an empty file. The damaged one stays beside it, with its write-ahead log, until the next one takes
 * its place. The file must not be open. If it cannot be read for another reason, such as a failing disk, it stays as it is.
 */
export function setAsideIfDamaged(file: string): SetAside | null {
  const reason = damageOf(file)
  if (reason === null) return null
  const path = copyOf(file)
  for (const suffix of ['', '-wal']) {
    rmSync(path + suffix, { force: true })
    try {
      renameSync(file + suffix, path + suffix)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }
  rmSync(`${file}-shm`, { force: true })
  closeSync(openSync(file, 'wx', 0o600))
  return { reason, path }
}

/** Removes the damaged databases that were set aside: they may tell of a user who is removed. */
export function removeSetAside(dataFolder: string): void {
  for (const { path } of findDatabases(dataFolder)) {
    const copy = copyOf(join(dataFolder, path))
    for (const suffix of ['', '-wal']) rmSync(copy + suffix, { force: true })
  }
}

/** Its name does not end as those of databases do, so backups and updates leave it out. */
function copyOf(file: string): string {
  return `${file}.damaged`
}

/** Returns what is wrong with a database; `null` if nothing is, or if it cannot be read now. */
function damageOf(file: string): string | null {
  try {
    // Another program that holds the file must not hold up the start.
    using connection = new DatabaseSync(file, { readOnly: true, timeout: 0 })
    if (statSync(file).size > mostChecked) {
      connection.prepare('SELECT count(*) FROM sqlite_schema').get()
      return null
    }
    const found = String(connection.prepare('PRAGMA quick_check(1)').get()?.quick_check)
    return found === 'ok' || isOfContent(found) ? null : found
  } catch (error) {
    return isDamage(error) && !isOfOtherVersion(file, error) ? messageOf(error) : null
  }
}

/** Whether a finding is about a rule of the tables, such as a value that is missing. The program that wrote it may have changed the rule. */
function isOfContent(finding: string): boolean {
  return /^(?:NULL value in|CHECK constraint failed in|non-\w+ value in|TEXT value in|NUMERIC value in) /.test(
    finding,
  )
}

/** Whether another version of SQLite may read the file: it knows a later format, or other words of a schema. */
function isOfOtherVersion(file: string, error: unknown): boolean {
  if (/malformed database schema/.test(messageOf(error))) return true
  return resultCode(error) === resultCodes.notadb && firstBytesOf(file) === magic
}

/** The file is not open in this process: closing it would drop the locks of SQLite. */
function firstBytesOf(file: string): string {
  const descriptor = openSync(file, 'r')
  try {
    const bytes = Buffer.alloc(magic.length)
    readSync(descriptor, bytes)
    return bytes.toString('latin1')
  } finally {
    closeSync(descriptor)
  }
}
