import { closeSync, openSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { messageOf } from '../errors/thrown.ts'
import { findDatabases } from './plugin-databases.ts'
import { isDamage } from './sqlite-codes.ts'

/** Bytes of a database that is checked as a whole: 0.1 s of a processor. Of larger ones, the check would delay the start. */
const mostChecked = 64 * 1024 * 1024

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
  let connection: DatabaseSync | undefined
  try {
    // Another program that holds the file must not hold up the start.
    connection = new DatabaseSync(file, { readOnly: true, timeout: 0 })
    if (statSync(file).size > mostChecked) {
      connection.prepare('SELECT count(*) FROM sqlite_schema').get()
      return null
    }
    const found = connection.prepare('PRAGMA quick_check(1)').get()?.quick_check
    return found === 'ok' ? null : String(found)
  } catch (error) {
    return isDamage(error) ? messageOf(error) : null
  } finally {
    connection?.close()
  }
}
