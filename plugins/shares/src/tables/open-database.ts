import { DatabaseSync } from 'node:sqlite'
import { inTransaction } from '@nodekeep/plugin-sdk'

/**
 * Opens a database, and brings its tables to the newest version. The last write of each transaction is on the disk: nobody opens an ended link again.
 *
 * @param versions the statements that make each version of the tables out of the one before, and the first one out of nothing
 */
export function openDatabase(file: string, versions: readonly string[]): DatabaseSync {
  const database = new DatabaseSync(file, { timeout: 5000 })
  try {
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON')
    const version = Number(database.prepare('PRAGMA user_version').get()?.user_version)
    if (version > versions.length) throw new Error('A newer version of the node has changed the links.')
    if (version < versions.length)
      inTransaction(database, () =>
        database.exec(`${versions.slice(version).join('')} PRAGMA user_version = ${versions.length};`),
      )
    return database
  } catch (error) {
    database.close()
    throw error
  }
}
