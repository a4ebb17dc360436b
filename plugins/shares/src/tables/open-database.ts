import { DatabaseSync } from 'node:sqlite'
import { inTransaction } from '@nodekeep/plugin-sdk'

const schemaVersion = 1

/** Opens a database, and makes its tables if it is empty. The last write of each transaction is on the disk: nobody opens an ended link again. */
export function openDatabase(file: string, tables: string): DatabaseSync {
  const database = new DatabaseSync(file, { timeout: 5000 })
  try {
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON')
    const version = Number(database.prepare('PRAGMA user_version').get()?.user_version)
    if (version > schemaVersion) throw new Error('A newer version of the node has changed the links.')
    if (version === 0)
      inTransaction(database, () => database.exec(`${tables} PRAGMA user_version = ${schemaVersion};`))
    return database
  } catch (error) {
    database.close()
    throw error
  }
}
