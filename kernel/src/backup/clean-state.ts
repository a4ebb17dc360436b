import { DatabaseSync } from 'node:sqlite'
import { createSql, type Row } from '../state/sql.ts'

/** An entry of a plugin's state that would expire within this time is left out: such as a nonce, which must not count twice. */
const shortLifeMs = 24 * 60 * 60 * 1000

/**
 * The kernel's tables, each with the statement that removes from it what a backup must not bring back: everything that gives
 * access, and everything that is short-lived. `null` keeps the whole table. `:soon` is a time in milliseconds since 1970.
 */
export const cleanedTables: Readonly<Record<string, string | null>> = {
  kernel_schema: null,
  plugin_migrations: null,
  state: 'DELETE FROM state WHERE expires <= :soon',
  // An earlier version may use the table. A released lease stays, so that its fence only rises.
  leases: 'UPDATE leases SET expires = 0',
  users: null,
  logins: null,
  // Sessions and API tokens.
  sessions: 'DELETE FROM sessions',
}

/** A user as people find them in a backup without opening its database. */
interface ListedUser {
  readonly username: string
  readonly wallet: string
  readonly owner: boolean
}

/**
 * Writes a copy of the kernel's database without what must not come back. The copy is built row by row: in the file, rows that were
 * removed earlier would still be readable in pages that are free now.
 *
 * It blocks its thread.
 *
 * @param from a copy of the database that nobody uses; it is changed
 * @param to an empty file
 * @param takenAt the time of the database's state, in milliseconds since 1970
 * @returns all users by uuid
 */
export function cleanState(from: string, to: string, takenAt: number): Record<string, ListedUser> {
  using connection = new DatabaseSync(from)
  connection.exec('PRAGMA journal_mode = OFF')
  connection.exec('PRAGMA synchronous = OFF')
  cleanDatabase(connection, takenAt)
  connection.prepare('VACUUM INTO ?').run(to)
  const users = createSql(connection).all(
    'SELECT uuid, username, wallet, owner FROM users ORDER BY created_at, uuid',
  )
  return Object.fromEntries(users.map(listed))
}

/** Removes from a database what must not come back. */
export function cleanDatabase(connection: DatabaseSync, takenAt: number): void {
  for (const statement of Object.values(cleanedTables)) {
    if (statement === null) continue
    connection.prepare(statement).run(statement.includes(':soon') ? { soon: takenAt + shortLifeMs } : {})
  }
}

function listed({ uuid, username, wallet, owner }: Row): [uuid: string, user: ListedUser] {
  return [String(uuid), { username: String(username), wallet: String(wallet), owner: owner !== null }]
}
