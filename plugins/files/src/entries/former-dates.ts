import type { DatabaseSync } from 'node:sqlite'
import { inTransaction } from '@nodekeep/plugin-sdk/data-folder'
import type { EntryStatements } from './entry-statements.ts'

/** Rows that one transaction takes. */
const stepRows = 300

/**
 * Takes the dates of creation from the table of the releases before the index. A rollback of an update starts them again. Their
 * revisions are either those of files, or size and time of modification of a restored file.
 */
export function takeFormerDates(connection: DatabaseSync, entries: EntryStatements): void {
  const select = connection.prepare(
    `SELECT user, folder, name, revision, created FROM created LIMIT ${stepRows}`,
  )
  const remove = connection.prepare('DELETE FROM created WHERE user = ? AND folder = ? AND name = ?')
  for (let rows = select.all(); rows.length > 0; rows = select.all()) {
    inTransaction(connection, () => {
      entries.begin()
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
