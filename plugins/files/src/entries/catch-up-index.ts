import type { DatabaseSync } from 'node:sqlite'
import { inTransaction } from '@nodekeep/plugin-sdk'
import type { EntryStatements } from './entry-statements.ts'

/** Rows that one transaction takes. */
const stepRows = 300

/**
 * Looks what a release before the index has written: a rollback of an update starts it again. The storages of its users are compared
 * before anybody trusts their entries.
 */
export function catchUpIndex(connection: DatabaseSync, entries: EntryStatements): void {
  const unindexed = 'pending = 0 AND indexed IS NULL AND staging IS NULL'
  inTransaction(connection, () => {
    connection.exec(
      `UPDATE trees SET complete = 0 WHERE user IN (SELECT DISTINCT user FROM changes WHERE ${unindexed})`,
    )
    connection.exec(`UPDATE changes SET indexed = 1 WHERE ${unindexed}`)
  })
  takeFormerDates(connection, entries)
}

/**
 * Takes the dates of creation from the table of the releases before the index. Their revisions are either those of files, or size and time of modification of a restored file.
 */
function takeFormerDates(connection: DatabaseSync, entries: EntryStatements): void {
  const select = connection.prepare(
    `SELECT user, folder, name, revision, created FROM created LIMIT ${stepRows}`,
  )
  const remove = connection.prepare('DELETE FROM created WHERE user = ? AND folder = ? AND name = ?')
  for (let rows = select.all(); rows.length > 0; rows = select.all()) {
    inTransaction(connection, () => {
      for (const row of rows) {
        const [user, folder, name, revision] = [row.user, row.folder, row.name, row.revision].map(
          String,
        ) as Texts
        const path = `${folder === '/' ? '' : folder}/${name}`
        const [, size, modified] = /^"(\d+) (-?\d+)$/.exec(revision) ?? []
        const created = Number(row.created)
        if (size === undefined) entries.takeCreated(user, path, revision, created)
        else {
          const dates = { modified: new Date(Number(modified)), created: new Date(created) }
          entries.restore([{ userUuid: user, path, size: Number(size), ...dates }])
        }
        remove.run(user, folder, name)
      }
      entries.end()
    })
  }
}

type Texts = [user: string, folder: string, name: string, revision: string]
